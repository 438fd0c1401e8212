//! Ranks as threads of one process.

use std::rc::Rc;
use std::sync::Arc;

use crate::engine::comm::{FileGroup, ProcessGroup, end_together};
use crate::engine::spill::{PartitionDataManager, SpillStore};
use crate::engine::turns::{Control, Stop, TurnLock};
use crate::io::{DiskStorage, IoCounters};
use crate::words::error::{Error, ErrorKind, Result};

/// A rank, its process group and its data.
pub struct RankContext {
    /// Index of this rank.
    pub rank: usize,
    /// Process group for its collectives.
    pub group: Rc<dyn ProcessGroup>,
    /// The rank's data; all of it is spilled at every pause.
    pub manager: Rc<PartitionDataManager>,
}

/// Runs `work` as `world_size` ranks, threads of this process, of which at most `slots` may be resident at a time; returns the
/// result of each. If a rank fails, the others are stopped and the first error that is not caused by this is returned.
///
/// # Errors
/// The first error of a rank; if ranks do not make the same collectives (`Worker`); or if the spill folder cannot be
/// created (`Io`).
pub fn on_ranks<T: Send>(
    world_size: usize,
    slots: usize,
    work: impl Fn(RankContext) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let control = Arc::new(Control::in_memory(world_size, slots)?);
    // Spilled values are small and often written: a folder in memory, where the system has one, takes a fraction of the time.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.map_err(|e| Error::io("create", "spill folder".as_ref(), e))?;
    let run = |group: FileGroup| -> Result<T> {
        let rank = group.rank();
        let spill = folder.path().join(format!("rank-{rank}"));
        std::fs::create_dir(&spill).map_err(|e| Error::io("create", &spill, e))?;
        let store =
            SpillStore::new(&spill, Arc::new(DiskStorage::default()), IoCounters::default());
        let manager = PartitionDataManager::new(TurnLock::new(control.clone(), rank), store);
        // Also on a panic: the other ranks must not wait for this one.
        let alarm = Alarm(&control);
        manager.callback_func()?;
        let group: Rc<dyn ProcessGroup> = Rc::new(group);
        let result = work(RankContext { rank, group: group.clone(), manager: manager.clone() })?;
        end_together(&*group, &*manager)?;
        manager.lock().release();
        std::mem::forget(alarm);
        Ok(result)
    };
    let run = &run;
    let results: Vec<Result<T>> = std::thread::scope(|scope| {
        let groups = FileGroup::in_memory(&control).into_iter();
        let threads: Vec<_> = groups.map(|group| scope.spawn(move || run(group))).collect();
        let join = |t: std::thread::ScopedJoinHandle<'_, Result<T>>| {
            t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    });
    let (own, stopped): (Vec<_>, Vec<_>) =
        results.into_iter().partition(|r| !matches!(r, Err(e) if e.kind() == ErrorKind::Aborted));
    own.into_iter().chain(stopped).collect()
}

/// Stops all ranks when it is dropped.
struct Alarm<'a>(&'a Control);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.stop(Stop::Aborted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::comm::barrier;

    #[test]
    fn ranks_learn_that_another_has_returned_early() {
        let work = |context: RankContext| match context.rank {
            0 => Ok(()),
            _ => barrier(&*context.group, &*context.manager),
        };
        assert_eq!(on_ranks(2, 1, work).unwrap_err().kind(), ErrorKind::Worker);
    }
}

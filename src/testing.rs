//! Ranks as threads, and small partitioned graphs: what tests of layers and collectives stand on.

use std::rc::Rc;
use std::sync::Arc;

use crate::comm::{LocalGroup, ProcessGroup};
use crate::error::{Error, Result};
use crate::graph::{GraphShard, ShardBuilder};
use crate::io::{DiskStorage, IoCounters};
use crate::ipc::{Control, Stop, TurnLock};
use crate::spill::{PartitionDataManager, SpillStore};
use crate::tape::GraphShardManager;

/// What a rank has.
pub struct RankContext {
    /// This rank.
    pub rank: usize,
    /// Its collectives.
    pub group: Rc<dyn ProcessGroup>,
    /// Its data; everything is spilled at every pause.
    pub manager: Rc<PartitionDataManager>,
}

/// Runs `work` as `world_size` ranks, threads of this process, of which `slots` may be resident at a time; gives what
/// each returned. If a rank fails, the others are stopped and the first error that is not such a stop is returned.
pub fn on_ranks<T: Send>(
    world_size: usize,
    slots: usize,
    work: impl Fn(RankContext) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let control = Arc::new(Control::in_memory(world_size, slots)?);
    let folder =
        tempfile::tempdir().map_err(|e| Error::io("create", "spill folder".as_ref(), e))?;
    let run = |group: LocalGroup| -> Result<T> {
        let rank = group.rank();
        let spill = folder.path().join(format!("rank-{rank}"));
        std::fs::create_dir(&spill).map_err(|e| Error::io("create", &spill, e))?;
        let store = SpillStore::new(&spill, Arc::new(DiskStorage), IoCounters::default());
        let manager = PartitionDataManager::new(TurnLock::new(control.clone(), rank), store);
        // Also on a panic: the other ranks must not wait for this one.
        let alarm = Alarm(&control);
        manager.callback_func()?;
        let result = work(RankContext { rank, group: Rc::new(group), manager: manager.clone() })?;
        manager.lock().release();
        std::mem::forget(alarm);
        Ok(result)
    };
    let run = &run;
    let results: Vec<Result<T>> = std::thread::scope(|scope| {
        let groups = LocalGroup::all(&control).into_iter();
        let threads: Vec<_> = groups.map(|group| scope.spawn(move || run(group))).collect();
        let join = |t: std::thread::ScopedJoinHandle<'_, Result<T>>| {
            t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    });
    let (own, stopped): (Vec<_>, Vec<_>) =
        results.into_iter().partition(|r| !matches!(r, Err(Error::Aborted)));
    own.into_iter().chain(stopped).collect()
}

/// Stops all ranks when dropped.
struct Alarm<'a>(&'a Control);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.stop(Stop::Aborted);
    }
}

/// A graph cut into partitions of consecutive nodes.
#[derive(Debug, Clone)]
pub struct TestGraph {
    /// Source, destination and weight of each edge.
    pub edges: Vec<(u32, u32, f32)>,
    /// Type of each edge; empty if there are no types.
    pub types: Vec<u16>,
    /// Where each partition begins, and the number of nodes.
    pub boundaries: Vec<u32>,
}

impl TestGraph {
    /// The nodes of `rank`.
    pub fn nodes(&self, rank: usize) -> std::ops::Range<u32> {
        self.boundaries[rank]..self.boundaries[rank + 1]
    }

    /// The graph as `rank` sees it; one collective.
    pub fn on(&self, context: &RankContext) -> Result<GraphShardManager> {
        let (shards, sources): (Vec<_>, Vec<_>) = (0..context.group.world_size())
            .map(|source| {
                let (shard, sources) = self.shard(context.rank, source);
                (context.manager.track("shard", shard), sources)
            })
            .unzip();
        let manager = &context.manager;
        let set = manager.partition_data.set(shards);
        set.map_err(|_| Error::Internal("a second graph on one rank".to_owned()))?;
        let first_node = u64::from(self.nodes(context.rank).start);
        GraphShardManager::new(manager, &context.group, first_node, sources)
    }

    fn shard(&self, rank: usize, source: usize) -> (GraphShard, Vec<u32>) {
        let (own, theirs) = (self.nodes(rank), self.nodes(source));
        let mut builder = ShardBuilder::default();
        for (i, &(src, dst, weight)) in self.edges.iter().enumerate() {
            if theirs.contains(&src) && own.contains(&dst) {
                builder.push(src - theirs.start, dst - own.start);
                builder.push_weight(weight);
                if let Some(etype) = self.types.get(i) {
                    builder.push_type(*etype);
                }
            }
        }
        builder.build(source, own.len(), theirs.len(), rank == source)
    }
}

//! Turns, spilling and collectives on arrays of bytes: what front ends stand on that bring their own library for tensors.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sar::engine::array::Array;
use sar::engine::comm::{FileGroup, ProcessGroup, ReduceOp, all_reduce, exchange_tensors};
use sar::engine::spill::{PartitionDataManager, SpillStore};
use sar::engine::turns::{Control, TurnLock};
use sar::io::{DiskStorage, IoCounters, Storage};

fn disk() -> Arc<dyn Storage> {
    Arc::new(DiskStorage::default())
}

/// A rank that keeps nothing in memory while it waits, with its turn taken.
fn rank(folder: &Path, control: &Arc<Control>, rank: usize) -> Rc<PartitionDataManager> {
    let folder = folder.join(format!("rank-{rank}"));
    fs::create_dir(&folder).unwrap();
    let store = SpillStore::new(&folder, disk(), IoCounters::default());
    let manager = PartitionDataManager::new(TurnLock::new(control.clone(), rank), store);
    manager.callback_func().unwrap();
    manager
}

fn numbers(count: usize, seed: usize) -> Array {
    let values: Vec<f32> = (0..count).map(|i| (i * 7 + seed) as f32).collect();
    Array::from_slice(&[count as i64, 1], &values).unwrap()
}

#[test]
fn ranks_take_turns_and_find_their_arrays_again() {
    const WORLD: usize = 4;
    const ROUNDS: usize = 5;
    let folder = tempfile::tempdir().unwrap();
    let control = Control::create(&folder.path().join("control"), WORLD, 1).unwrap();
    let (control, resident) = (Arc::new(control), AtomicUsize::new(0));
    let work = |of: usize| {
        let counters = IoCounters::default();
        let group = FileGroup::new(control.clone(), of, folder.path(), disk(), counters);
        let manager = rank(folder.path(), &control, of);
        let values = manager.track("values", numbers(1 << 18, of));
        for round in 0..ROUNDS {
            assert_eq!(resident.fetch_add(1, Ordering::SeqCst), 0, "one rank computes at a time");
            let mine = Array::from_slice(&[2], &[of as i64, round as i64]).unwrap();
            assert_eq!(resident.fetch_sub(1, Ordering::SeqCst), 1);
            let sum = all_reduce(&group, vec![mine], ReduceOp::Sum, &*manager).unwrap();
            assert_eq!(sum[0].slice::<i64>(), [6, (WORLD * round) as i64]);
            assert!(!values.is_resident());
            assert_eq!(*values.pin().unwrap(), numbers(1 << 18, of));
            let send = (0..group.world_size()).map(|to| numbers(to + 1, 10 * of)).collect();
            let received = exchange_tensors(&group, send, &*manager).unwrap();
            for (from, array) in received.iter().enumerate() {
                assert_eq!(*array, numbers(of + 1, 10 * from));
            }
        }
        let totals = manager.store().counters().totals();
        assert_eq!(totals.written, 4 << 18, "a value is written once");
        manager.lock().release();
    };
    std::thread::scope(|scope| {
        for of in 0..WORLD {
            let work = &work;
            scope.spawn(move || work(of));
        }
    });
}

//! One suite for all backends: what each collective delivers, and that it pauses exactly once.
#![allow(clippy::unwrap_used)]

#[path = "collectives/agreement.rs"]
mod agreement;
#[path = "common/full_disk.rs"]
mod full_disk;
#[path = "collectives/in_process.rs"]
mod in_process;
#[path = "collectives/machines.rs"]
mod machines;
#[path = "collectives/messages.rs"]
mod messages;

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use sar::engine::array::{Array, ArrayLayout};
use sar::engine::comm::{
    FileGroup, Hooks, ProcessGroup, ReduceOp, all_reduce, all_reduce_in_slices, all_to_all,
    barrier, broadcast, exchange_single_tensor, exchange_tensors, gather_grads, sync_params,
};
use sar::engine::turns::Control;
use sar::io::{DiskStorage, Dtype, IoCounters};
use sar::{ErrorKind, Result};

use machines::on_machines;

const WORLD_SIZES: [usize; 5] = [1, 2, 4, 8, 16];

/// Counts pauses, and checks that precall and callback alternate.
#[derive(Default)]
struct CountingHooks {
    paused: Cell<bool>,
    pauses: Cell<usize>,
}

impl Hooks for CountingHooks {
    fn precall(&self) -> Result<()> {
        assert!(!self.paused.replace(true));
        Ok(())
    }

    fn callback(&self) -> Result<()> {
        assert!(self.paused.replace(false));
        self.pauses.set(self.pauses.get() + 1);
        Ok(())
    }
}

/// Runs `work` on every rank of all backends and world sizes; each call must pause `pauses` times.
fn on_every_backend(pauses: usize, work: impl Fn(&dyn ProcessGroup, &CountingHooks) + Sync) {
    for world in WORLD_SIZES {
        let control = Arc::new(Control::in_memory(world, world).unwrap());
        run_ranks(FileGroup::in_memory(&control), pauses, &work);

        let folder = tempfile::tempdir().unwrap();
        let control = Control::create(&folder.path().join("control"), world, world).unwrap();
        let control = Arc::new(control);
        let group = |rank| {
            let storage = Arc::new(DiskStorage::default());
            FileGroup::new(control.clone(), rank, folder.path(), storage, IoCounters::default())
        };
        run_ranks((0..world).map(group).collect(), pauses, &work);
    }
    // An even split, and one with a rank alone; the ranks of a machine need not follow each other.
    let late = Duration::from_micros(300);
    for (machines, delay) in [
        (vec![vec![0], vec![1]], late),
        (vec![vec![0, 1], vec![2, 3]], Duration::ZERO),
        (vec![vec![1, 4, 5], vec![0], vec![2, 3]], late),
    ] {
        let ends = on_machines(&machines, delay, |group| {
            let hooks = CountingHooks::default();
            work(group, &hooks);
            assert_eq!(hooks.pauses.get(), pauses, "pauses of one call");
            Ok(())
        });
        for end in ends {
            end.result.unwrap();
        }
    }
}

fn run_ranks<G: ProcessGroup + Send>(
    groups: Vec<G>,
    pauses: usize,
    work: &(impl Fn(&dyn ProcessGroup, &CountingHooks) + Sync),
) {
    std::thread::scope(|scope| {
        for group in groups {
            scope.spawn(move || {
                let hooks = CountingHooks::default();
                work(&group, &hooks);
                assert_eq!(hooks.pauses.get(), pauses, "pauses of one call");
            });
        }
    });
}

fn numbers(values: &[f32]) -> Array {
    Array::from_slice(&[values.len() as i64], values).unwrap()
}

fn list(array: &Array) -> Vec<f64> {
    let mut values = vec![0.0; array.bytes().len() / array.dtype().size()];
    array.dtype().to_f64(array.bytes(), &mut values);
    values
}

#[test]
fn exchange_tensors_delivers_any_shape_and_type() {
    on_every_backend(1, |group, hooks| {
        let rank = group.rank() as i64;
        let send =
            |to: i64| Array::from_slice(&[to, 2], &vec![rank * 100 + to; 2 * to as usize]).unwrap();
        let send = (0..group.world_size() as i64).map(send).collect();
        let received = exchange_tensors(group, send, hooks).unwrap();
        for (from, tensor) in received.iter().enumerate() {
            assert_eq!(tensor.layout(), &ArrayLayout::new(Dtype::I64, &[rank, 2]));
            let expected = (from as i64 * 100 + rank) as f64;
            assert_eq!(list(tensor), vec![expected; 2 * group.rank()]);
        }
    });
}

#[test]
fn all_to_all_refuses_what_was_not_expected() {
    on_every_backend(2, |group, hooks| {
        let world = group.world_size();
        let send = || (0..world).map(|to| numbers(&[to as f32])).collect();
        let expected = vec![ArrayLayout::new(Dtype::F32, &[1]); world];
        let received = all_to_all(group, send(), &expected, hooks).unwrap();
        assert!(received.iter().all(|t| list(t) == [group.rank() as f64]));
        let wrong = vec![ArrayLayout::new(Dtype::F32, &[2]); world];
        let refused = all_to_all(group, send(), &wrong, hooks);
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Worker);
    });
}

#[test]
fn all_to_all_names_a_number_of_expectations_that_is_not_that_of_the_ranks() {
    on_every_backend(0, |group, hooks| {
        let (rank, world) = (group.rank(), group.world_size());
        for count in [world - 1, world + 1] {
            let expected = vec![ArrayLayout::new(Dtype::F32, &[1]); count];
            let send = (0..world).map(|to| numbers(&[to as f32])).collect();
            let error = all_to_all(group, send, &expected, hooks).unwrap_err().to_string();
            let problem = format!("rank {rank} expects {count} tensors from {world} ranks");
            assert_eq!(error, format!("expected: {problem}"));
        }
    });
}

#[test]
fn ranks_that_reduce_different_numbers_of_tensors_are_named() {
    on_every_backend(1, |group, hooks| {
        let (rank, world) = (group.rank(), group.world_size());
        let bring = (0..=usize::from(rank == 1)).map(|_| numbers(&[1.0])).collect();
        let reduced = all_reduce(group, bring, ReduceOp::Sum, hooks);
        if world == 1 {
            assert_eq!(reduced.unwrap().len(), 1);
            return;
        }
        let problem = match rank {
            1 => "rank 0 reduces 1 tensors where rank 1 reduces 2".to_owned(),
            _ => format!("rank 1 reduces 2 tensors where rank {rank} reduces 1"),
        };
        assert_eq!(reduced.unwrap_err().to_string(), problem);
    });
}

#[test]
fn exchange_single_tensor_shifts_around_the_ring() {
    on_every_backend(1, |group, hooks| {
        let (rank, world) = (group.rank(), group.world_size());
        let (from, to) = ((rank + world - 1) % world, (rank + 1) % world);
        let sent = numbers(&[rank as f32; 3]);
        let received = exchange_single_tensor(group, from, to, sent, hooks).unwrap();
        assert_eq!(list(&received), [from as f64; 3]);
    });
}

#[test]
fn all_reduce_sums_and_selects_in_one_pause() {
    on_every_backend(3, |group, hooks| {
        let (rank, world) = (group.rank() as f32, group.world_size() as f64);
        let number = Array::from_slice(&[1], &[group.rank() as i64]).unwrap();
        let bring = || vec![numbers(&[rank, -rank]), number.clone()];
        let sum = all_reduce(group, bring(), ReduceOp::Sum, hooks).unwrap();
        let total = world * (world - 1.0) / 2.0;
        assert_eq!(list(&sum[0]), [total, -total]);
        assert_eq!(sum[1].slice::<i64>(), [total as i64]);
        let max = all_reduce(group, bring(), ReduceOp::Max, hooks).unwrap();
        assert_eq!(list(&max[0]), [world - 1.0, 0.0]);
        let min = all_reduce(group, bring(), ReduceOp::Min, hooks).unwrap();
        assert_eq!(list(&min[0]), [0.0, 1.0 - world]);
    });
}

#[test]
fn all_reduce_gives_the_same_bits_everywhere_also_in_slices() {
    let first = parking_lot::Mutex::new(std::collections::HashMap::new());
    on_every_backend(3, |group, hooks| {
        let rank = group.rank();
        // More values than a block has, and none for the slices of most ranks.
        let many: Vec<f32> = (0..150_001).map(|i| 0.1 + (i + rank) as f32 * 0.37).collect();
        let (bring, op) = (|| vec![numbers(&many), numbers(&[1e-9])], ReduceOp::Sum);
        let sum = all_reduce(group, bring(), op, hooks).unwrap();
        let sliced = all_reduce_in_slices(group, bring(), op, hooks).unwrap();
        assert!(sum.iter().zip(&sliced).all(|(sum, sliced)| sum.bytes() == sliced.bytes()));
        let (sum, mut first) = (list(&sum[0]), first.lock());
        assert_eq!(*first.entry(group.world_size()).or_insert(sum.clone()), sum);
    });
}

#[test]
fn broadcast_gives_all_that_the_root_brings_whatever_others_bring() {
    on_every_backend(2, |group, hooks| {
        for root in [0, group.world_size() - 1] {
            let count = if group.rank() == root { 2 } else { group.rank() % 4 };
            let mine = (0..count).map(|i| numbers(&[group.rank() as f32, i as f32])).collect();
            let received = broadcast(group, mine, root, hooks).unwrap();
            let received: Vec<_> = received.iter().map(list).collect();
            assert_eq!(received, [[root as f64, 0.0], [root as f64, 1.0]]);
        }
    });
    on_every_backend(0, |group, hooks| {
        let world = group.world_size();
        let error = broadcast(group, vec![numbers(&[1.0])], world, hooks).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("root: rank {world} does not exist; ranks are below {world}")
        );
        assert!(exchange_single_tensor(group, 0, world, numbers(&[1.0]), hooks).is_err());
    });
}

#[test]
fn sync_params_names_what_ranks_have_if_it_differs() {
    let sync = |group: &dyn ProcessGroup, hooks: &CountingHooks, root, other| {
        let mine: &[usize] = if group.rank() == 0 { root } else { other };
        let mine = mine.iter().map(|len| numbers(&vec![0.0; *len])).collect();
        let synced = sync_params(group, mine, hooks);
        (group.rank() > 0).then(|| synced.unwrap_err().to_string())
    };
    on_every_backend(2, |group, hooks| {
        let rank = group.rank();
        if let Some(error) = sync(group, hooks, &[3, 4], &[3]) {
            assert_eq!(error, format!("rank 0 sends 2 parameters to rank {rank}, which has 1"));
        }
        if let Some(error) = sync(group, hooks, &[3, 4], &[3, 5]) {
            assert!(error.contains("parameter 1 is"), "{error}");
            assert!(error.ends_with(&format!("on rank {rank}")), "{error}");
        }
    });
}

#[test]
fn sync_params_and_gather_grads_take_one_pause_for_all_tensors() {
    on_every_backend(2, |group, hooks| {
        let mine = || vec![numbers(&[group.rank() as f32; 4]), numbers(&[1.0])];
        let synced = sync_params(group, mine(), hooks).unwrap();
        assert_eq!((list(&synced[0]), list(&synced[1])), (vec![0.0; 4], vec![1.0]));
        let summed = gather_grads(group, mine(), hooks).unwrap();
        assert_eq!(list(&summed[1]), [group.world_size() as f64]);
    });
}

#[test]
fn many_collectives_in_a_row_leave_no_files_but_the_last() {
    let folder = tempfile::tempdir().unwrap();
    let control = Arc::new(Control::create(&folder.path().join("control"), 3, 3).unwrap());
    let group = |rank| {
        let storage = Arc::new(DiskStorage::default());
        FileGroup::new(control.clone(), rank, folder.path(), storage, IoCounters::default())
    };
    run_ranks((0..3).map(group).collect(), 40, &|group, hooks| {
        for _ in 0..40 {
            barrier(group, hooks).unwrap();
        }
    });
    let names = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name());
    let mut names: Vec<_> = names.map(|n| n.into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["control", "outbox-39-0", "outbox-39-1", "outbox-39-2"]);
}

#[test]
fn ranks_in_different_operations_name_both() {
    on_every_backend(1, |group, hooks| {
        if group.world_size() == 1 {
            return barrier(group, hooks).unwrap();
        }
        let (own, other) = match group.rank() {
            0 => ("barrier", "all_reduce"),
            _ => ("all_reduce", "barrier"),
        };
        let error = match group.rank() {
            0 => barrier(group, hooks).unwrap_err(),
            _ => all_reduce(group, vec![numbers(&[1.0])], ReduceOp::Sum, hooks).unwrap_err(),
        };
        let from = usize::from(group.rank() == 0);
        let expected = format!(
            "rank {} is in collective 0 ({own}), but rank {from} sent a message of collective 0 ({other})",
            group.rank()
        );
        assert!(error.to_string().contains(&expected), "{error}");
        assert_eq!((error.kind(), error.hint().is_some()), (ErrorKind::Worker, true));
    });
}

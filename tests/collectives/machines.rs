//! Several machines in one process: each has a folder, a control file, a carrier, and its ranks as threads.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crossbeam::channel::unbounded;
use sar::engine::array::Array;
use sar::engine::comm::machines::{Carrier, Piece, Site, Transport};
use sar::engine::comm::{
    FileGroup, NoHooks, Operation, Placement, ProcessGroup, Recipient, all_gather, barrier,
    complete,
};
use sar::engine::turns::{Control, Stop};
use sar::io::{DiskStorage, IoCounters, Storage};
use sar::{Error, ErrorKind, Result};

use super::full_disk::FullDisk;
use super::in_process::InProcess;

/// A machine after the run.
pub(super) struct MachineAfter {
    pub(super) result: Result<()>,
    /// Files in its folder.
    pub(super) left: Vec<String>,
}

/// Runs `work` on every rank of machines with these ranks, whose messages to each other are late.
pub(super) fn on_machines(
    machines: &[Vec<usize>],
    delay: Duration,
    work: impl Fn(&FileGroup) -> Result<()> + Sync,
) -> Vec<MachineAfter> {
    let disk = || Arc::new(DiskStorage::default()) as Arc<dyn Storage>;
    on_disks(machines, delay, machines.iter().map(|_| disk()).collect(), work)
}

type End = Box<dyn Transport + Send>;

/// Like [`on_machines`], with the storage of each carrier.
fn on_disks(
    machines: &[Vec<usize>],
    delay: Duration,
    disks: Vec<Arc<dyn Storage>>,
    work: impl Fn(&FileGroup) -> Result<()> + Sync,
) -> Vec<MachineAfter> {
    let ends = InProcess::all(machines.len(), delay).into_iter();
    on_ends(machines, ends.map(|end| Box::new(end) as End).collect(), disks, work)
}

fn on_ends(
    machines: &[Vec<usize>],
    ends: Vec<End>,
    disks: Vec<Arc<dyn Storage>>,
    work: impl Fn(&FileGroup) -> Result<()> + Sync,
) -> Vec<MachineAfter> {
    std::thread::scope(|scope| {
        let work = &work;
        let run = |(end, disk)| scope.spawn(move || machine(end, machines, disk, work));
        let threads: Vec<_> = ends.into_iter().zip(disks).map(run).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn machine(
    end: End,
    machines: &[Vec<usize>],
    storage: Arc<dyn Storage>,
    work: &(impl Fn(&FileGroup) -> Result<()> + Sync),
) -> MachineAfter {
    let ranks = machines[end.machine()].clone();
    let folder = tempfile::tempdir().unwrap();
    let control = Control::create(&folder.path().join("control"), ranks.len(), ranks.len());
    let control = Arc::new(control.unwrap());
    control.add_carrier();
    let world_size = machines.iter().map(Vec::len).sum();
    let placement = Arc::new(Placement::new(world_size, ranks, machines.len()).unwrap());
    let group = |slot| {
        let (control, placement) = (control.clone(), placement.clone());
        let storage = Arc::new(DiskStorage::default());
        FileGroup::placed(control, placement, slot, folder.path(), storage, IoCounters::default())
    };
    let site = Site { control: &control, folder: folder.path(), storage };
    let (ended, result) = unbounded();
    let result = std::thread::scope(|scope| {
        let site = &site;
        let carrying =
            scope.spawn(move || Carrier::new(end, machines.to_vec(), site).run(&result).result);
        let run = |slot| {
            let (group, control) = (group(slot), &control);
            scope.spawn(move || work(&group).inspect_err(|_| control.stop(Stop::Aborted)))
        };
        let threads: Vec<_> = (0..placement.local().len()).map(run).collect();
        let results = threads.into_iter().map(|thread| thread.join().unwrap());
        let results: Vec<_> = results.collect();
        // As a launcher does: the first error that is not the end of a wait.
        let (own, stopped): (Vec<_>, Vec<_>) = results
            .into_iter()
            .partition(|result| !matches!(result, Err(e) if e.kind() == ErrorKind::Aborted));
        ended.send(own.into_iter().chain(stopped).collect()).unwrap();
        carrying.join().unwrap()
    });
    MachineAfter { result, left: files(folder.path()) }
}

fn files(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

const UNEVEN: [&[usize]; 3] = [&[0, 3], &[1], &[2, 4, 5]];

fn uneven() -> Vec<Vec<usize>> {
    UNEVEN.map(<[usize]>::to_vec).into()
}

/// Bytes that a sender sends to a recipient: many, one, or none.
fn message(from: usize, to: usize, round: usize) -> Vec<u8> {
    let len = match (from + to + round) % 4 {
        0 => 0,
        1 => 1,
        2 => 70_000,
        _ => 9_500_000,
    };
    (0..len).map(|i| (i * 7 + from * 31 + to * 17 + round) as u8).collect()
}

#[test]
fn messages_of_all_sizes_arrive_on_all_machines_and_leave_only_the_last() {
    let after = on_machines(&uneven(), Duration::ZERO, |group| {
        let (rank, world) = (group.rank(), group.world_size());
        for round in 0..3 {
            let mut outbox = group.outbox(Operation::PullRows)?;
            for to in 0..world {
                outbox.begin(Recipient::Rank(to)).unwrap();
                outbox.write(&message(rank, to, round))?;
            }
            let collective = complete(group, outbox.post()?, &NoHooks)?;
            for from in 0..world {
                let mut inbox = group.inbox(&collective, from)?;
                let mut bytes = vec![0; inbox.remaining() as usize];
                inbox.read(&mut bytes)?;
                assert!(bytes == message(from, rank, round), "{from} to {rank} in {round}");
            }
        }
        barrier(group, &NoHooks)
    });
    for MachineAfter { result, left } in after {
        result.unwrap();
        let of_last = (0..6).map(|sender| format!("outbox-3-{sender}"));
        let expected: Vec<_> = std::iter::once("control".to_owned()).chain(of_last).collect();
        assert_eq!(left, expected);
    }
}

#[test]
fn collectives_that_share_a_pause_and_kept_ones_are_read_in_any_order() {
    let after = on_machines(&uneven(), Duration::from_micros(200), |group| {
        let post = |value: u8, keep: bool| {
            let mut outbox = group.outbox(Operation::PushRows)?;
            if keep {
                outbox.keep();
            }
            outbox.begin(Recipient::Everyone).unwrap();
            outbox.write(&[value, group.rank() as u8])?;
            outbox.post()
        };
        let (kept, passing) = (post(1, true)?, post(2, false)?);
        let both = sar::engine::comm::complete_all(group, vec![kept, passing], &NoHooks)?;
        let read = |place: usize, value| -> Result<()> {
            for from in 0..group.world_size() {
                let mut bytes = [0; 2];
                group.inbox(&both[place], from)?.read(&mut bytes)?;
                assert_eq!(bytes, [value, from as u8]);
            }
            Ok(())
        };
        read(1, 2)?;
        read(0, 1)?;
        barrier(group, &NoHooks)?;
        barrier(group, &NoHooks)?;
        read(0, 1)?;
        drop(both);
        barrier(group, &NoHooks)
    });
    for MachineAfter { result, left } in after {
        result.unwrap();
        assert!(
            left.iter().all(|name| name == "control" || name.starts_with("outbox-4-")),
            "{left:?}"
        );
    }
}

#[cfg(feature = "torch")]
#[test]
fn a_tensor_has_a_file_on_each_machine() {
    use sar::engine::comm::Ranks;
    use sar::graph::{CanonicalEtype, PartitionBook};
    use sar::sampling::stores::{DistTensor, DistTensorConfig, PartitionPolicy};

    let etypes = vec![CanonicalEtype::new("n", "r", "n")];
    let (nodes, edges) = (vec![vec![2]; 6], vec![vec![1]; 6]);
    let book = Arc::new(PartitionBook::new(vec!["n".to_owned()], etypes, &nodes, &edges).unwrap());
    let folders = UNEVEN.map(|_| tempfile::tempdir().unwrap());
    let after = on_machines(&uneven(), Duration::ZERO, |group| {
        let (rank, ranks) = (group.rank(), Ranks { group, hooks: &NoHooks });
        let machine = UNEVEN.iter().position(|here| here.contains(&rank)).unwrap();
        let config = DistTensorConfig {
            folder: folders[machine].path(),
            name: None,
            row_shape: &[],
            policy: PartitionPolicy::Nodes(0),
            persistent: false,
        };
        let start = |first: u64, rows: &mut [i64]| {
            rows.iter_mut().zip(first..).for_each(|(row, id)| *row = id as i64);
        };
        let tensor = DistTensor::on_all_ranks(&book, &config, start, ranks)?;
        assert_eq!(tensor.read(&[0, 11])?, [0, 11]);
        barrier(group, &NoHooks)?;
        tensor.write_from(tensor.rows_of(rank).start, &[-1, rank as i64])?;
        tensor.send_own_rows(ranks)?;
        barrier(group, &NoHooks)?;
        let all: Vec<u64> = (0..12).collect();
        assert_eq!(tensor.read(&all)?, [-1, 0, -1, 1, -1, 2, -1, 3, -1, 4, -1, 5]);
        barrier(group, &NoHooks)
    });
    for machine in after {
        machine.result.unwrap();
    }
    assert!(folders.iter().all(|folder| files(folder.path()).is_empty()));
}

#[test]
fn a_rank_that_fails_ends_all_machines_with_its_error() {
    let after = on_machines(&uneven(), Duration::from_micros(200), |group| {
        for round in 0.. {
            if group.rank() == 4 && round == 5 {
                return Err(Error::internal("its disk is gone".to_owned()));
            }
            barrier(group, &NoHooks)?;
        }
        Ok(())
    });
    for MachineAfter { result, .. } in after {
        let error = result.unwrap_err().to_string();
        assert!(error.contains("machine 2: ") && error.ends_with("its disk is gone"), "{error}");
    }
}

#[test]
fn a_full_disk_ends_all_machines_and_is_named() {
    let disk = || Arc::new(DiskStorage::default()) as Arc<dyn Storage>;
    let full = FullDisk::at_call(20, DiskStorage::default());
    let disks = vec![disk(), Arc::new(full), disk()];
    let after = on_disks(&uneven(), Duration::ZERO, disks, |group| {
        let mine = Array::from_slice(&[1000], &[group.rank() as i64; 1000])?;
        loop {
            all_gather(group, mine.clone(), &NoHooks)?;
        }
    });
    for MachineAfter { result, .. } in after {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfDisk, "{error}");
        assert!(error.to_string().starts_with("machine 1: "), "{error}");
    }
}

/// A transport that vanishes with its machine after some pieces.
struct Vanishing {
    inner: Option<InProcess>,
    machine: usize,
    machines: usize,
    left: usize,
}

impl Vanishing {
    fn inner(&mut self) -> Result<&mut InProcess> {
        self.inner.as_mut().ok_or_else(|| Error::internal("no network".to_owned()))
    }
}

impl Transport for Vanishing {
    fn machine(&self) -> usize {
        self.machine
    }

    fn num_machines(&self) -> usize {
        self.machines
    }

    fn try_send(&mut self, to: usize, piece: Piece) -> Result<Option<Piece>> {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.inner = None;
        }
        self.inner()?.try_send(to, piece)
    }

    fn try_receive(&mut self, from: usize) -> Result<Option<Piece>> {
        self.inner()?.try_receive(from)
    }

    fn has_sent_all(&mut self) -> Result<bool> {
        Ok(true)
    }
}

#[test]
fn a_machine_that_vanishes_ends_the_others() {
    let machines = uneven();
    let mut ends: Vec<End> = Vec::new();
    for (machine, end) in InProcess::all(machines.len(), Duration::ZERO).into_iter().enumerate() {
        ends.push(match machine {
            1 => Box::new(Vanishing { inner: Some(end), machine, machines: 3, left: 40 }),
            _ => Box::new(end),
        });
    }
    let disks = machines.iter().map(|_| Arc::new(DiskStorage::default()) as Arc<dyn Storage>);
    let after = on_ends(&machines, ends, disks.collect(), |group| {
        loop {
            barrier(group, &NoHooks)?;
        }
    });
    for machine in [0, 2] {
        let error = after[machine].result.as_ref().unwrap_err().to_string();
        assert_eq!(error, "machine 1 no longer answers");
    }
}

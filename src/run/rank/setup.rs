//! The setup of every rank before it works: turn, partition, graph.

use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tch::{Kind, Tensor};

use crate::engine::comm::{FileGroup, Placement, ProcessGroup, Ranks, all_gather, sync_params};
use crate::engine::spill::{PartitionDataManager, PointerTensor, SpillStore};
use crate::engine::tape::ParameterSet;
use crate::engine::tensor;
use crate::engine::turns::{Control, TurnLock};
use crate::event::{Event, EventSender};
use crate::formats::dgl::Partition;
use crate::formats::dgl::config::PartitionConfig;
use crate::io::{AccountedStorage, DiskMeter, DiskStorage, IoCounters, IoMode, Storage};
use crate::load::{NodeFeatures, Reachable};
use crate::platform::blocks::keep_blocks;
use crate::platform::{prepare_allocator, prepare_allocator_to_keep, start_pool};
use crate::run::config::Resources;
use crate::words::error::{Error, Result};

/// Element type of models' computations.
pub(super) const KIND: Kind = Kind::Float;

/// Arguments from the launcher to a worker.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The rank.
    pub rank: usize,
    /// The rank's slot in the control block.
    pub slot: usize,
    /// The machine of each rank.
    pub placement: &'a Arc<Placement>,
    /// The control block of the run's ranks on this machine.
    pub control: &'a Arc<Control>,
    /// The run's folder.
    pub folder: &'a Path,
    /// The sender of events.
    pub events: &'a EventSender,
    /// The partition directory.
    pub partitions: &'a PartitionConfig,
    /// Resources of the machine that the run's workers use.
    pub resources: &'a Resources,
    /// Number of threads to compute with.
    pub threads: usize,
    /// How files are written and read when the page cache has no room for them.
    pub io: IoMode,
    /// Size of the graph relative to the real one, if it is a stand-in.
    pub stand_in: Option<f64>,
    /// Page cache, in bytes, that a stand-in's files may use; its ranks keep nothing else in memory.
    pub cache: u64,
    /// Stand-in runs only: maximum memory of the rank while it waits, in bytes.
    pub waiting: Option<&'a Rc<Cell<u64>>>,
    /// The file that reserves disk space for the run, if there is one.
    pub reserve: Option<&'a Path>,
}

impl<'a> Surroundings<'a> {
    /// Whether the rank belongs to a stand-in whose memory is not measured.
    fn frees_nothing(&self) -> bool {
        self.stand_in.is_some() && self.waiting.is_none()
    }

    /// Partitions whose files the rank reads: all, or only its own if others are on other machines.
    pub(in crate::run) fn reachable(&self) -> Reachable<'a> {
        match self.placement.remote().next() {
            None => self.partitions.into(),
            Some(_) => Reachable::only(self.partitions, self.rank),
        }
    }
}

/// The data that a rank computes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passes {
    /// The whole graph: ranks pause in every layer.
    WholeGraph,
    /// Batches of sampled neighbourhoods, each in newly allocated memory; evaluations may be on the whole graph.
    Batches,
}

/// A rank with its partition opened, in its first turn.
pub struct RankSetup {
    /// The rank's data.
    pub manager: Rc<PartitionDataManager>,
    /// The process group of all ranks.
    pub group: Rc<dyn ProcessGroup>,
    /// The files of the rank's partition.
    pub partition: Partition,
}

impl RankSetup {
    /// The ranks, for functions that run collectives.
    pub fn ranks(&self) -> Ranks<'_> {
        Ranks { group: &*self.group, hooks: &*self.manager }
    }

    /// Takes the first turn and opens the partition.
    ///
    /// # Errors
    /// If the partition is wrong (`Input`), the run's folder cannot be used (`Io`), threads cannot be started
    /// (`OutOfProcesses`), or the run is being stopped (`Aborted`, `Interrupted`).
    pub fn new(here: Surroundings<'_>, passes: Passes) -> Result<Self> {
        match passes {
            Passes::Batches => {
                prepare_allocator_to_keep();
                keep_blocks()?;
            }
            Passes::WholeGraph if here.frees_nothing() => prepare_allocator_to_keep(),
            Passes::WholeGraph => {
                prepare_allocator(here.stand_in.unwrap_or(1.0));
                keep_blocks()?;
            }
        }
        set_threads(here.threads, passes == Passes::WholeGraph)?;
        let Surroundings { rank, slot, placement, control, folder, .. } = here;
        let counters = IoCounters::default();
        let disk = match (here.stand_in, control.parked_share()) {
            // Requests around the page cache have buffers of one size. If only some files of a stand-in filled them,
            // the difference would look like growth with the size of the graph.
            (Some(_), 0) if here.waiting.is_some() => {
                DiskStorage::with_share(IoMode::Buffered).at_least(here.cache)
            }
            (Some(_), 0) if here.cache > 0 => DiskStorage::default(),
            _ => DiskStorage::with_share(here.io),
        };
        let disk = Arc::new(disk.reusing_files());
        let storage: Arc<dyn Storage> = match here.stand_in {
            Some(_) => {
                let meter = DiskMeter::open(folder, rank, control.num_ranks());
                let meter = meter.map_err(|e| Error::io("measure", folder, e))?;
                Arc::new(AccountedStorage::new(disk, meter))
            }
            None => AccountedStorage::in_reserve(disk, here.reserve, control.num_ranks())?,
        };
        let spill = folder.join(format!("rank-{rank}"));
        std::fs::create_dir(&spill).map_err(|e| Error::io("create", &spill, e))?;
        // The forecast of disk space must be an upper bound.
        let pads = here.stand_in.is_some() && control.parked_share() == 0;
        let store = SpillStore::padding(&spill, storage.clone(), counters.clone(), pads);
        let lock = TurnLock::counting(control.clone(), slot, counters.clone());
        // A stand-in measures its peak over all turns.
        let lock = if here.stand_in.is_some() { lock } else { lock.of_process() };
        let manager = PartitionDataManager::new(lock, store);
        if let Some(scale) = here.stand_in {
            manager.stand_in(scale, here.waiting.cloned());
        }
        manager.spill_dtype.set(here.resources.spill_dtype);
        manager.compute_dtype.set(here.resources.compute_dtype);
        let (control, placement) = (control.clone(), placement.clone());
        let group = FileGroup::placed(control, placement, slot, folder, storage, counters);
        let group: Rc<dyn ProcessGroup> = Rc::new(group.padding(pads));

        manager.callback_func()?;
        let partition = Partition::open(here.partitions, rank)?;
        for note in partition.notes() {
            here.events.send(Event::Note(format!("partition {rank}: {note}")))?;
        }
        Ok(RankSetup { manager, group, partition })
    }

    /// Tracks features, which are read from the partition whenever they are used.
    pub(in crate::run) fn track_features(&self, features: NodeFeatures) -> PointerTensor {
        let counters = self.manager.store().counters().clone();
        let size = features.size();
        let exact = features.message_dtype();
        let read = Rc::new(move || features.read(KIND, &counters));
        self.manager.track_exact("features", &size, KIND, exact, read)
    }

    /// Sends a record from every rank to every rank. One collective.
    pub(super) fn gather<T: Serialize + DeserializeOwned>(&self, mine: &T) -> Result<Vec<T>> {
        let failed =
            |e: serde_json::Error| Error::internal(format!("cannot pass a record on: {e}"));
        let mine = Tensor::f_from_slice(&serde_json::to_vec(mine).map_err(failed)?)?;
        let all = all_gather(&*self.group, mine, &*self.manager)?;
        let read = |record| serde_json::from_slice(&tensor::bytes(&record)).map_err(failed);
        all.into_iter().map(read).collect()
    }

    /// The sums of numbers over all ranks. One collective.
    pub(super) fn sums(&self, numbers: &[i64]) -> Result<Vec<i64>> {
        let ranks = self.gather(&numbers.to_vec())?;
        Ok((0..numbers.len()).map(|i| ranks.iter().map(|rank| rank[i]).sum()).collect())
    }

    /// Sends rank 0's initial values to every rank. One collective.
    pub(in crate::run) fn sync(&self, parameters: &ParameterSet) -> Result<()> {
        let flat = tensor::copy(&*parameters.flat().pin()?)?;
        let mut synced = sync_params(&*self.group, vec![flat], &*self.manager)?;
        parameters.set_flat(synced.remove(0))
    }

    /// Checks that the width of features, by node or edge type (-1: none), is the same on all ranks, which have gathered
    /// these widths.
    pub(super) fn check_widths<'w>(
        &self,
        widths: &[i64],
        of_parts: impl Iterator<Item = &'w [i64]>,
    ) -> Result<()> {
        for (part, theirs) in of_parts.enumerate() {
            if let Some((own, other)) = widths.iter().zip(theirs).find(|(own, other)| own != other)
            {
                let path = self.partition.node_features().path();
                let problem =
                    format!("the features have {own} columns, but {other} in partition {part}");
                return Err(Error::input(path, "", problem)
                    .with_hint("partition the graph again: all parts must come from one run"));
            }
        }
        Ok(())
    }

    /// Ends the rank's work: its turn and its files.
    pub(in crate::run) fn end(self) -> Result<()> {
        self.manager.close()?;
        self.manager.lock().finish();
        Ok(())
    }
}

/// [Starts the pool](start_pool). libtorch gets one thread per call, because its own threads would spin for milliseconds
/// after each operation, in every parked worker.
fn set_threads(threads: usize, this_too: bool) -> Result<()> {
    tch::set_num_threads(1);
    start_pool(threads, this_too)
}

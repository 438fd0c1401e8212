//! A worker as its Python code sees it.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use sar::engine::comm::{Collective, FileGroup, Hooks, Operation, Recipient, end_together};
use sar::engine::turns::{Control, Phase, TurnLock};
use sar::event::{Event, EventSender};
use sar::formats::dgl::{Partition, PartitionConfig};
use sar::io::{DiskStorage, IoCounters, IoMode, Storage};

use crate::edges::Edges;
use crate::errors::exception;
use crate::files::Files;
use crate::graph::{Layer, LocalGraph, World};
use crate::memory::Place;
use crate::sleep::Sleeper;

/// The parts of which a worker is made.
pub(crate) struct Surroundings<'a> {
    pub(crate) rank: usize,
    pub(crate) control: &'a Arc<Control>,
    pub(crate) folder: &'a Path,
    pub(crate) partitions: &'a PartitionConfig,
    pub(crate) events: EventSender,
}

/// A rank of a run: its partition, the other ranks, and its turn.
///
/// Tensors are handed over as (address, bytes) of contiguous memory; see `sar_single.graph.tensors`.
#[pyclass(unsendable, module = "sar_single._engine")]
pub(crate) struct Rank {
    index: usize,
    folder: PathBuf,
    partition: Partition,
    partitions: PartitionConfig,
    /// Until `edges` hands it over.
    graph: Option<LocalGraph>,
    world: Rc<World>,
    turns: Rc<Turns>,
    events: EventSender,
    /// The last exchange, whose messages are read.
    exchanged: RefCell<Option<Collective>>,
    /// Whether a step has ended.
    has_stepped: Cell<bool>,
}

/// The turns of this rank, and what happens to its memory between them.
struct Turns {
    lock: TurnLock,
    sleeper: RefCell<Sleeper>,
    /// The destination of messages.
    storage: Arc<DiskStorage>,
}

/// Give the turn up with all memory on disk that has no room; take the next turn.
impl Hooks for Turns {
    fn precall(&self) -> sar::Result<()> {
        if !self.lock.is_alone() {
            let room = |wanted: &[u64]| self.lock.claim_room(wanted);
            self.lock.set_cached(self.storage.cached_bytes());
            let kept = self.sleeper.borrow_mut().sleep(self.lock.parked_share(), room)?;
            self.lock.keep(kept);
            // Messages take what memory leaves of this rank's share, in the page cache.
            self.storage.set_cache_share(self.lock.parked_share().saturating_sub(kept));
        }
        self.lock.release();
        Ok(())
    }

    fn callback(&self) -> sar::Result<()> {
        // Messages that all ranks have read are gone.
        if !self.lock.is_alone() {
            self.lock.set_cached(self.storage.cached_bytes());
        }
        // The memory of a Python process is put away as a whole, which happens at pauses only.
        self.lock.acquire(|| Ok(()))
    }
}

impl Rank {
    /// Takes the first turn and opens the partition.
    pub(crate) fn new(here: Surroundings<'_>) -> sar::Result<Self> {
        let Surroundings { rank, control, folder, partitions, events } = here;
        let sleeper = RefCell::new(Sleeper::new(&folder.join(format!("rank-{rank}")))?);
        let storage = Arc::new(DiskStorage::with_share(IoMode::Auto));
        let counters = IoCounters::default();
        let group = FileGroup::new(control.clone(), rank, folder, storage.clone(), counters);
        let lock = TurnLock::new(control.clone(), rank).of_process();
        let turns = Rc::new(Turns { lock, sleeper, storage });
        turns.callback()?;
        turns.lock.status().set_phase(Phase::Loading);
        let partition = Partition::open(partitions, rank)?;
        for note in partition.notes() {
            events.send(Event::Note(format!("partition {rank}: {note}")))?;
        }
        let world = Rc::new(World { group: Box::new(group), hooks: turns.clone() });
        let graph = Some(LocalGraph::load(&partition, world.clone())?);
        let folder = folder.to_owned();
        Ok(Rank {
            index: rank,
            folder,
            partition,
            partitions: partitions.clone(),
            graph,
            world,
            turns,
            events,
            exchanged: RefCell::new(None),
            has_stepped: Cell::new(false),
        })
    }

    /// Ends the rank's last turn.
    pub(crate) fn finish(&self) {
        self.turns.lock.finish();
    }
}

#[pymethods]
impl Rank {
    #[getter]
    fn index(&self) -> usize {
        self.index
    }

    #[getter]
    fn world_size(&self) -> usize {
        self.world.group.world_size()
    }

    #[getter]
    fn folder(&self) -> &Path {
        &self.folder
    }

    /// The operations along the edges that end at the rank's nodes; once.
    fn edges(&mut self) -> PyResult<Edges> {
        let graph = self.graph.take();
        let graph = graph.ok_or_else(|| PyValueError::new_err("the edges have been taken"))?;
        Ok(Edges::new(graph))
    }

    /// The operations along edges into some of the rank's nodes; one collective. Each rank has chosen some of its rows, how many `rows`
    /// says, and numbered them. Of each edge: the rank that owns its source, the source's number there, and its destination, type and id.
    #[allow(clippy::too_many_arguments)] // called once, from Python
    fn layer(
        &self,
        num_nodes: usize,
        rows: Place,
        owner: Place,
        row: Place,
        destination: Place,
        etype: Place,
        id: Place,
    ) -> PyResult<Edges> {
        let [rows, owner, row, destination, etype, id] =
            [rows, owner, row, destination, etype, id].map(Place::slice::<i64>);
        let layer = Layer { num_nodes, rows, owner, row, destination, etype, id };
        let graph = LocalGraph::of_layer(&self.partition, &layer, self.world.clone());
        Ok(Edges::new(graph.map_err(exception)?))
    }

    /// The files of all partitions.
    fn files(&self) -> Files {
        Files::around(self.partitions.clone(), &self.partition)
    }

    /// Original ids of the own nodes (edges, by row) of a type, if the partition has them.
    fn original_ids(&self, table: &str, ty: usize, out: Place) -> PyResult<bool> {
        let ids = match table {
            "node" => self.partition.orig_node_ids(ty),
            _ => self.partition.orig_edge_ids(ty),
        };
        let Some(ids) = ids.map_err(exception)? else {
            return Ok(false);
        };
        ids.read(0..ids.num_rows(), out.slice_mut()).map_err(exception)?;
        Ok(true)
    }

    /// Sends messages, each the parts of a list one after the other: one to every rank, or the only one to all.
    fn exchange(&self, messages: Vec<Vec<Place>>) -> PyResult<()> {
        let group = &self.world.group;
        let sent = || {
            let mut outbox = group.outbox(Operation::ExchangeTensors)?;
            for (rank, parts) in messages.iter().enumerate() {
                outbox.begin(match messages.len() {
                    1 => Recipient::Everyone,
                    _ => Recipient::Rank(rank),
                })?;
                for part in parts {
                    outbox.write(part.slice())?;
                }
            }
            self.world.complete(outbox)
        };
        self.exchanged.replace(Some(sent().map_err(exception)?));
        Ok(())
    }

    /// The message of a rank in the last exchange.
    fn message<'py>(&self, py: Python<'py>, rank: usize) -> PyResult<Bound<'py, PyByteArray>> {
        let exchanged = self.exchanged.borrow();
        let collective = exchanged.as_ref();
        let collective =
            collective.ok_or_else(|| PyValueError::new_err("nothing has been exchanged"))?;
        let mut inbox = self.world.group.inbox(collective, rank).map_err(exception)?;
        let len = inbox.remaining() as usize;
        PyByteArray::new_with(py, len, |bytes| inbox.read(bytes).map_err(exception))
    }

    /// Waits until every rank has come to its end.
    ///
    /// # Errors
    /// If a rank is in another collective: not all ranks have made the same ones.
    fn end(&self) -> PyResult<()> {
        end_together(&*self.world.group, &*self.world.hooks).map_err(exception)
    }

    /// Notes the epoch that this rank is in.
    fn set_epoch(&self, epoch: u32) {
        self.turns.lock.status().epoch.set(epoch);
    }

    /// Reports the values of an epoch, as a JSON object.
    fn log(&self, values: String) -> PyResult<()> {
        self.events.send(Event::Logged(values)).map_err(exception)
    }

    /// Notes that a step is complete on all ranks, so that the budget can be divided again. All ranks call this. The first
    /// step shows nothing, because its turns are numbered from its end on.
    fn step(&self) -> PyResult<()> {
        self.turns.lock.number_turns();
        if self.has_stepped.replace(true) && self.index == 0 {
            self.events.send(Event::Step).map_err(exception)?;
        }
        Ok(())
    }

    /// How many turns this rank has taken.
    #[getter]
    fn turns(&self) -> u64 {
        self.turns.lock.turns()
    }
}

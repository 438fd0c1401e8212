//! A worker as its Python code sees it.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use sar::engine::comm::{FileGroup, Hooks, Operation, Recipient};
use sar::engine::turns::{Control, Phase, TurnLock};
use sar::event::{Event, EventSender};
use sar::formats::dgl::{
    ArrayRef, FeatureSet, Partition, PartitionConfig, open_edge_features, open_node_features,
};
use sar::io::{DiskStorage, IoCounters, IoMode, Storage};

use crate::edges::Edges;
use crate::errors::exception;
use crate::graph::{LocalGraph, World};
use crate::memory::{Place, memory};
use crate::sleep::Sleeper;

/// What a worker is made from.
pub(crate) struct Surroundings<'a> {
    pub(crate) rank: usize,
    pub(crate) control: &'a Arc<Control>,
    pub(crate) folder: &'a Path,
    pub(crate) partitions: &'a PartitionConfig,
    pub(crate) events: EventSender,
}

/// A rank of a run: its partition, the other ranks, and its turn.
///
/// Tensors are handed over as (address, bytes) of contiguous memory; see `sar_single._tensors`.
#[pyclass(unsendable, module = "sar_single._engine")]
pub(crate) struct Rank {
    index: usize,
    folder: PathBuf,
    partition: Partition,
    partitions: PartitionConfig,
    /// Features of the nodes of all partitions, once they are asked for.
    node_features: RefCell<Vec<FeatureSet>>,
    /// Features of the edges of all partitions.
    edge_features: RefCell<Vec<FeatureSet>>,
    /// Until `edges` hands it over.
    graph: Option<LocalGraph>,
    world: Rc<World>,
    turns: Rc<Turns>,
    events: EventSender,
}

/// The turns of this rank, and what happens to its memory between them.
struct Turns {
    lock: TurnLock,
    sleeper: RefCell<Sleeper>,
    /// Where messages go.
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
        self.lock.acquire()
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
        let lock = TurnLock::new(control.clone(), rank);
        let turns = Rc::new(Turns { lock, sleeper, storage });
        turns.callback()?;
        turns.lock.status().set_phase(Phase::Loading);
        let partition = Partition::open(partitions, rank)?;
        for note in partition.notes() {
            events.send(Event::Note(format!("partition {rank}: {note}")))?;
        }
        let world = Rc::new(World { group: Box::new(group), hooks: turns.clone() });
        let graph = Some(LocalGraph::load(&partition, &world)?);
        let folder = folder.to_owned();
        Ok(Rank {
            index: rank,
            folder,
            partition,
            partitions: partitions.clone(),
            node_features: RefCell::default(),
            edge_features: RefCell::default(),
            graph,
            world,
            turns,
            events,
        })
    }

    /// Ends the rank's last turn.
    pub(crate) fn finish(&self) {
        self.turns.lock.finish();
    }

    fn array(&self, table: &str, index: usize) -> PyResult<&ArrayRef> {
        let features = match table {
            "node" => self.partition.node_features(),
            _ => self.partition.edge_features(),
        };
        let feature = features.features().get(index);
        Ok(feature
            .ok_or_else(|| PyValueError::new_err(format!("there is no array {index}")))?
            .array())
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

    #[getter]
    fn num_total_nodes(&self) -> u64 {
        self.partition.book().num_nodes()
    }

    /// The operations along the edges that end at the rank's nodes; once.
    fn edges(&mut self) -> PyResult<Edges> {
        let graph = self.graph.take();
        let graph = graph.ok_or_else(|| PyValueError::new_err("the edges have been taken"))?;
        Ok(Edges::new(graph, self.world.clone()))
    }

    /// Names of the node types, and how many own nodes each has.
    #[getter]
    fn ntypes(&self) -> Vec<(String, u64)> {
        let (book, part) = (self.partition.book(), self.partition.part());
        let own = |ntype| book.node_type_range(part, ntype);
        let names = book.ntypes().iter().enumerate();
        names.map(|(ntype, name)| (name.clone(), own(ntype).end - own(ntype).start)).collect()
    }

    /// Names of the edge types, and how many own edges each has.
    #[getter]
    fn etypes(&self) -> Vec<(String, u64)> {
        let (book, part) = (self.partition.book(), self.partition.part());
        let own = |etype| book.edge_type_range(part, etype);
        let names = book.etypes().iter().enumerate();
        names.map(|(etype, name)| (name.to_string(), own(etype).end - own(etype).start)).collect()
    }

    /// Key, type, element type and shape of each array of the `table` ("node" or "edge").
    fn arrays(&self, table: &str) -> Vec<(String, usize, &'static str, Vec<u64>)> {
        let features = match table {
            "node" => self.partition.node_features(),
            _ => self.partition.edge_features(),
        };
        let describe = |feature: &sar::formats::dgl::Feature| {
            let array = feature.array();
            (feature.key().to_owned(), feature.ty(), array.dtype().name(), array.shape().to_vec())
        };
        features.features().iter().map(describe).collect()
    }

    /// The indexes of the arrays that a key means, one per type or none, as on the command line.
    fn lookup(&self, table: &str, key: &str) -> PyResult<Vec<Option<usize>>> {
        let features = match table {
            "node" => self.partition.node_features(),
            _ => self.partition.edge_features(),
        };
        let found = features.lookup(key).map_err(exception)?;
        let index = |key: &str| features.features().iter().position(|f| f.key() == key);
        Ok(found.iter().map(|feature| feature.and_then(|f| index(f.key()))).collect())
    }

    /// Reads all rows of an array.
    fn read_array(&self, table: &str, index: usize, out: Place) -> PyResult<()> {
        let array = self.array(table, index)?;
        let rows = 0..array.num_rows();
        array.read_rows(rows, memory(out).slice_mut()).map_err(exception)
    }

    /// Where the nodes of each partition begin, and behind the last one where they end.
    #[getter]
    fn first_nodes(&self) -> Vec<u64> {
        let book = self.partition.book();
        (0..book.num_parts())
            .map(|part| book.node_range(part).start)
            .chain([book.num_nodes()])
            .collect()
    }

    /// The ids of the nodes (edges) that a partition has of a type: the first one, the partition and the type, for all of them by
    /// their ids, and the end behind the last one.
    fn ranges(&self, table: &str) -> (Vec<(u64, usize, usize)>, u64) {
        let book = self.partition.book();
        let (types, end) = match table {
            "node" => (book.ntypes().len(), book.num_nodes()),
            _ => (book.etypes().len(), book.num_edges()),
        };
        let range = |part, ty| match table {
            "node" => book.node_type_range(part, ty),
            _ => book.edge_type_range(part, ty),
        };
        let all = (0..book.num_parts()).flat_map(|part| (0..types).map(move |ty| (part, ty)));
        let ranges = all.map(|(part, ty)| (range(part, ty), part, ty));
        let some = ranges.filter(|(range, ..)| !range.is_empty());
        let mut firsts: Vec<_> = some.map(|(range, part, ty)| (range.start, part, ty)).collect();
        firsts.sort_unstable();
        (firsts, end)
    }

    /// Reads rows of a feature of any partition, by its key there; `rows` are ascending numbers of rows (int64).
    fn read_rows(
        &self,
        table: &str,
        part: usize,
        key: &str,
        rows: Place,
        out: Place,
    ) -> PyResult<()> {
        let mut all = match table {
            "node" => self.node_features.borrow_mut(),
            _ => self.edge_features.borrow_mut(),
        };
        for part in all.len()..self.partitions.book().num_parts() {
            let opened = match table {
                "node" => open_node_features(&self.partitions, part),
                _ => open_edge_features(&self.partitions, part),
            };
            all.push(opened.map_err(exception)?);
        }
        let feature = all[part].features().iter().find(|feature| feature.key() == key);
        let array = feature
            .ok_or_else(|| PyKeyError::new_err(format!("partition {part} has no array {key}")))?
            .array();
        let (rows, out) = (memory(rows).slice::<i64>(), memory(out).slice_mut::<u8>());
        let width = out.len().checked_div(rows.len()).unwrap_or(0);
        let mut begin = 0;
        for run in rows.chunk_by(|a, b| a + 1 == *b) {
            let out = &mut out[begin * width..(begin + run.len()) * width];
            let first = run[0] as u64;
            array.read_rows(first..first + run.len() as u64, out).map_err(exception)?;
            begin += run.len();
        }
        Ok(())
    }

    /// Original ids of the own nodes of a type, if the partition has them.
    fn original_ids(&self, ntype: usize, out: Place) -> PyResult<bool> {
        let Some(ids) = self.partition.orig_node_ids(ntype).map_err(exception)? else {
            return Ok(false);
        };
        ids.read(0..ids.num_rows(), memory(out).slice_mut()).map_err(exception)?;
        Ok(true)
    }

    /// Sends messages, each the parts of a list one after the other: one to every rank, or the only one to all. Gives what each
    /// rank sent here.
    fn exchange<'py>(
        &self,
        py: Python<'py>,
        messages: Vec<Vec<Place>>,
    ) -> PyResult<Vec<Bound<'py, PyByteArray>>> {
        let group = &self.world.group;
        let sent = || {
            let mut outbox = group.outbox(Operation::ExchangeTensors)?;
            for (rank, parts) in messages.iter().enumerate() {
                outbox.begin(match messages.len() {
                    1 => Recipient::Everyone,
                    _ => Recipient::Rank(rank),
                });
                for part in parts {
                    outbox.write(memory(*part).slice())?;
                }
            }
            self.world.complete(outbox)
        };
        let collective = sent().map_err(exception)?;
        let receive = |rank| {
            let mut inbox = group.inbox(&collective, rank).map_err(exception)?;
            let len = inbox.remaining() as usize;
            PyByteArray::new_with(py, len, |bytes| inbox.read(bytes).map_err(exception))
        };
        (0..group.world_size()).map(receive).collect()
    }

    /// Waits until every rank has come to its end.
    ///
    /// # Errors
    /// If a rank is in another collective: not all ranks have made the same ones.
    fn end(&self) -> PyResult<()> {
        let group = &self.world.group;
        let ended = || {
            let collective = self.world.complete(group.outbox(Operation::End)?)?;
            (0..group.world_size()).try_for_each(|rank| group.inbox(&collective, rank).map(drop))
        };
        ended().map_err(exception)
    }

    /// Notes the epoch that this rank is in.
    fn set_epoch(&self, epoch: u32) {
        self.turns.lock.status().set_epoch(epoch);
    }

    /// Reports the values of an epoch, as a JSON object.
    fn log(&self, values: String) -> PyResult<()> {
        self.events.send(Event::Logged(values)).map_err(exception)
    }

    /// Reports that a step is complete on all ranks, so that the budget can be divided again.
    fn step(&self) -> PyResult<()> {
        self.events.send(Event::Step).map_err(exception)
    }

    /// How many turns this rank has taken.
    #[getter]
    fn turns(&self) -> u64 {
        self.turns.lock.turns()
    }
}

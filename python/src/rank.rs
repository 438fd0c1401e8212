//! A worker as its Python code sees it.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use sar::engine::comm::{
    Collective, FileGroup, Hooks, Operation, ProcessGroup, Recipient, complete,
};
use sar::engine::turns::{Control, Phase, TurnLock};
use sar::event::{Event, EventSender};
use sar::formats::dgl::{ArrayRef, Partition, PartitionConfig};
use sar::io::{DiskStorage, IoCounters, IoMode};

use crate::elements::{Elements, for_elements};
use crate::errors::exception;
use crate::graph::{self, LocalGraph};
use crate::memory::Memory;
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
    graph: Option<LocalGraph>,
    pub(crate) peers: Peers,
    received: Option<Collective>,
    events: EventSender,
}

/// The other ranks, and what happens while this one waits for them.
pub(crate) struct Peers {
    pub(crate) group: FileGroup,
    lock: TurnLock,
    sleeper: RefCell<Sleeper>,
}

/// Give the turn up with all memory on disk that has no room; take the next turn.
impl Hooks for Peers {
    fn precall(&self) -> sar::Result<()> {
        if !self.lock.is_alone() {
            let room = |wanted| self.lock.claim_room(&[wanted]);
            let kept = self.sleeper.borrow_mut().sleep(room)?;
            self.lock.keep(kept);
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
        let group = FileGroup::new(control.clone(), rank, folder, storage, counters);
        let lock = TurnLock::new(control.clone(), rank);
        let peers = Peers { group, lock, sleeper };
        peers.callback()?;
        peers.lock.status().set_phase(Phase::Loading);
        let partition = Partition::open(partitions, rank)?;
        for note in partition.notes() {
            events.send(Event::Note(format!("partition {rank}: {note}")))?;
        }
        let mut rank = Rank {
            index: rank,
            folder: folder.to_owned(),
            partition,
            graph: None,
            peers,
            received: None,
            events,
        };
        rank.graph = Some(LocalGraph::load(&rank.partition, &rank.peers.group, &rank.peers)?);
        Ok(rank)
    }

    /// Ends the rank's last turn.
    pub(crate) fn finish(&self) {
        self.peers.lock.finish();
    }

    pub(crate) fn local(&self) -> PyResult<&LocalGraph> {
        self.graph.as_ref().ok_or_else(|| PyValueError::new_err("the graph is not loaded"))
    }

    pub(crate) fn arrived(&self) -> PyResult<&Collective> {
        self.received.as_ref().ok_or_else(|| PyValueError::new_err("nothing has been sent"))
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

/// The place of a tensor's elements: address and bytes.
pub(crate) type Place = (usize, usize);

pub(crate) fn memory((address, bytes): Place) -> Memory {
    Memory::new(address, bytes)
}

#[pymethods]
impl Rank {
    #[getter]
    fn index(&self) -> usize {
        self.index
    }

    #[getter]
    fn world_size(&self) -> usize {
        self.peers.group.world_size()
    }

    #[getter]
    fn folder(&self) -> &Path {
        &self.folder
    }

    #[getter]
    fn num_total_nodes(&self) -> u64 {
        self.partition.book().num_nodes()
    }

    #[getter]
    fn num_nodes(&self) -> PyResult<usize> {
        Ok(self.local()?.num_nodes())
    }

    #[getter]
    fn num_edges(&self) -> PyResult<usize> {
        Ok(self.local()?.num_edges())
    }

    #[getter]
    fn num_halo_rows(&self) -> PyResult<usize> {
        Ok(self.local()?.num_halo_rows())
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

    /// Original ids of the own nodes of a type, if the partition has them.
    fn original_ids(&self, ntype: usize, out: Place) -> PyResult<bool> {
        let Some(ids) = self.partition.orig_node_ids(ntype).map_err(exception)? else {
            return Ok(false);
        };
        ids.read(0..ids.num_rows(), memory(out).slice_mut()).map_err(exception)?;
        Ok(true)
    }

    /// Fills int64 arrays with, of each edge: its source among the halo's rows, its destination, its type, its row among features.
    fn edges(&self, source: Place, destination: Place, etype: Place, row: Place) -> PyResult<()> {
        let [source, destination, etype, row] =
            [source, destination, etype, row].map(|place| memory(place).slice_mut::<i64>());
        self.local()?.each_edge(|number, edge| {
            source[number] = edge.source;
            destination[number] = edge.destination;
            etype[number] = edge.etype;
            row[number] = edge.row;
        });
        Ok(())
    }

    /// Fills an int64 array with the number of edges, of all ranks, that begin at each own node.
    fn out_degrees(&self, out: Place) -> PyResult<()> {
        memory(out).slice_mut().copy_from_slice(self.local()?.out_degrees());
        Ok(())
    }

    /// Sends every other rank the rows of `x` that it has edges from, and waits.
    fn share_rows(&mut self, x: Place) -> PyResult<()> {
        let Peers { group, .. } = &self.peers;
        let x = memory(x).slice();
        let collective = graph::share_rows(self.local()?, x, group, &self.peers);
        self.received = Some(collective.map_err(exception)?);
        Ok(())
    }

    /// `y += ` sums over in-edges of `x`, which has been shared. `factors` has `heads` values per edge.
    fn sum(
        &self,
        size: usize,
        x: Place,
        factors: Option<Place>,
        heads: usize,
        y: Place,
    ) -> PyResult<()> {
        for_elements!(Elements::of_size(size)?, Self::sum_of(self, x, factors, heads, y))
    }

    /// Sends gradients of the sum's sources to their owners, and with them `x`, if given; waits.
    fn send_gradients(
        &mut self,
        size: usize,
        gy: Place,
        factors: Option<Place>,
        heads: usize,
        x: Option<Place>,
    ) -> PyResult<()> {
        let elements = Elements::of_size(size)?;
        self.received = Some(for_elements!(elements, Self::send_of(self, gy, factors, heads, x))?);
        Ok(())
    }

    /// `gx += ` the gradients of the own rows.
    fn sum_gradients(
        &self,
        size: usize,
        gy: Place,
        factors: Option<Place>,
        heads: usize,
        gx: Place,
    ) -> PyResult<()> {
        for_elements!(Elements::of_size(size)?, Self::gradients_of(self, gy, factors, heads, gx))
    }

    /// The gradients of the factors, `[edges, heads]`; after `send_gradients` with `x`.
    fn factor_gradients(
        &self,
        size: usize,
        heads: usize,
        x: Place,
        gy: Place,
        gfactors: Place,
    ) -> PyResult<()> {
        for_elements!(Elements::of_size(size)?, Self::factors_of(self, heads, x, gy, gfactors))
    }

    /// The largest (or smallest) value over in-edges of `x`, which has been shared, and which source it is (uint32).
    fn select(
        &self,
        size: usize,
        largest: bool,
        x: Place,
        value: Place,
        argument: Place,
    ) -> PyResult<()> {
        for_elements!(Elements::of_size(size)?, Self::select_of(self, largest, x, value, argument))
    }

    /// Sends gradients of selected rows to their owners; waits.
    fn send_select_gradients(&mut self, size: usize, gy: Place, argument: Place) -> PyResult<()> {
        let elements = Elements::of_size(size)?;
        self.received = Some(for_elements!(elements, Self::send_selected(self, gy, argument))?);
        Ok(())
    }

    /// `gx += ` the gradients of the own rows.
    fn select_gradients(&self, size: usize, gy: Place, argument: Place, gx: Place) -> PyResult<()> {
        for_elements!(Elements::of_size(size)?, Self::selected_of(self, gy, argument, gx))
    }

    /// Fills `out` with the rows of all sources of edges: those of `x`, which has been shared, then those of the other ranks.
    fn halo_rows(&self, x: Place, out: Place) -> PyResult<()> {
        let (x, out) = (memory(x).slice(), memory(out).slice_mut());
        let graph = self.local()?;
        graph::halo_rows(graph, &self.peers.group, self.arrived()?, x, out).map_err(exception)
    }

    /// Sends the gradients of other ranks' rows to them; waits.
    fn send_halo_gradients(&mut self, gradients: Place) -> PyResult<()> {
        let gradients = memory(gradients).slice::<u8>();
        let Peers { group, .. } = &self.peers;
        let sent = graph::send_halo_gradients(self.local()?, group, &self.peers, gradients);
        self.received = Some(sent.map_err(exception)?);
        Ok(())
    }

    /// `gx` becomes the sum of the gradients of the own rows.
    fn halo_gradients(&self, size: usize, gradients: Place, gx: Place) -> PyResult<()> {
        for_elements!(Elements::of_size(size)?, Self::halo_of(self, gradients, gx))
    }

    /// Softmax over the in-edges of each node, `[edges, heads]`.
    fn edge_softmax(&self, size: usize, heads: usize, scores: Place, y: Place) -> PyResult<()> {
        for_elements!(Elements::of_size(size)?, Self::softmax_of(self, heads, scores, y))
    }

    /// The gradient of the scores.
    fn edge_softmax_gradients(
        &self,
        size: usize,
        heads: usize,
        y: Place,
        gy: Place,
        gscores: Place,
    ) -> PyResult<()> {
        for_elements!(
            Elements::of_size(size)?,
            Self::softmax_adjoint_of(self, heads, y, gy, gscores)
        )
    }

    /// Sends messages, each the parts of a list one after the other: one to every rank, or the only one to all. Gives what each
    /// rank sent here.
    fn exchange<'py>(
        &self,
        py: Python<'py>,
        messages: Vec<Vec<Place>>,
    ) -> PyResult<Vec<Bound<'py, PyByteArray>>> {
        let group = &self.peers.group;
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
            complete(group, outbox.post()?, &self.peers)
        };
        let collective = sent().map_err(exception)?;
        let receive = |rank| {
            let mut inbox = group.inbox(&collective, rank).map_err(exception)?;
            let len = inbox.remaining() as usize;
            PyByteArray::new_with(py, len, |bytes| inbox.read(bytes).map_err(exception))
        };
        (0..group.world_size()).map(receive).collect()
    }

    /// Notes the epoch that this rank is in.
    fn set_epoch(&self, epoch: u32) {
        self.peers.lock.status().set_epoch(epoch);
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
        self.peers.lock.turns()
    }
}

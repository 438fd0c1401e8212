//! One rank of a job.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tch::{Device, Kind, Tensor};

use super::mark::EpochMark;
use super::saved_state::{RestoredState, SavedState};
use crate::engine::comm::{
    self, ProcessGroup, Ranks, ReduceOp, end_together, share_files, spans_machines,
};
use crate::engine::spill::{Masks, PartitionDataManager, PointerTensor};
use crate::engine::tape::{
    Gradients, Graph, GraphShardManager, HeteroGraphShardManager, ParameterSet,
};
use crate::event::Event;
use crate::formats::dgl::Partition;
use crate::load::{
    EdgeData, EdgeFeatures, NodeFeatures, Normalize, Targets, construct_full_graph,
    construct_full_hetero_graph, load_labels, load_mask, load_targets,
};
use crate::nn::Optimizer;
use crate::run::rank::{Passes, RankSetup, Surroundings, pending_checkpoint, set_edge_sources};
use crate::words::error::{Error, Result};

/// One rank of a [`launch`](super::launch())ed job, in its own process: its partition, its data, and the collectives
/// with the other ranks.
///
/// Every collective is a pause: the rank spills what it may not keep, gives up its turn and waits for all others. A
/// value that lives across a pause must be a [`PointerTensor`]; other tensors stay in memory and are not part of the
/// budget. All ranks must make the same sequence of collectives.
pub struct Rank<'a> {
    here: Surroundings<'a>,
    setup: RankSetup,
    out: Option<&'a Path>,
    restored: Option<&'a Path>,
    mark: RefCell<EpochMark>,
}

/// Sums over all ranks, returned by [`Rank::gather_grads`].
pub struct Gathered {
    /// Gradients, laid out as [`ParameterSet::flat`].
    pub gradient: Tensor,
    /// The numbers.
    pub numbers: Vec<f64>,
}

impl<'a> Rank<'a> {
    pub(super) fn new(
        here: Surroundings<'a>,
        out: Option<&'a Path>,
        restored: Option<&'a Path>,
    ) -> Result<Self> {
        let setup = RankSetup::new(here, Passes::WholeGraph)?;
        setup.manager.lock().number_turns();
        let mark = RefCell::new(EpochMark::now(&setup.manager));
        Ok(Rank { here, setup, out, restored, mark })
    }

    /// Number of this rank, which is the number of its partition.
    pub fn index(&self) -> usize {
        self.here.rank
    }

    /// Number of ranks.
    pub fn world_size(&self) -> usize {
        self.setup.group.world_size()
    }

    /// The rank's tracked values, which are spilled while it waits.
    pub fn manager(&self) -> &Rc<PartitionDataManager> {
        &self.setup.manager
    }

    /// The ranks, for the functions of [`engine::comm`](crate::engine::comm).
    pub fn group(&self) -> &dyn ProcessGroup {
        &*self.setup.group
    }

    /// A handle on the ranks, for what keeps one: a [`CollectiveGraph`](crate::sampling::stores::CollectiveGraph), or
    /// [`construct_full_graph`].
    pub fn shared_group(&self) -> &Rc<dyn ProcessGroup> {
        &self.setup.group
    }

    /// The group with the rank's pauses, for loaders, embeddings and optimizers of rows.
    pub fn ranks(&self) -> Ranks<'_> {
        self.setup.ranks()
    }

    /// The files of this rank's partition, as from SAR's `load_dgl_partition_data`.
    pub fn partition_data(&self) -> &Partition {
        &self.setup.partition
    }

    /// The graph of the partition, with the exchange of rows between partitions: SAR's `GraphShardManager`. It has the
    /// edges into this rank's nodes; `edges` selects the data of each edge. One collective.
    ///
    /// # Errors
    /// If the partition's files are damaged or lack data that `edges` requests.
    pub fn graph(&self, edges: EdgeData<'_>) -> Result<GraphShardManager> {
        let RankSetup { manager, group, partition } = &self.setup;
        construct_full_graph(manager, group, partition, edges)
    }

    /// The graph as one relation per edge type, for layers per relation. `weight` is the key of the edge weights, if
    /// messages are weighted. One collective per edge type.
    ///
    /// # Errors
    /// If the partition's files are damaged, or an edge type lacks the weights.
    pub fn hetero_graph(&self, weight: Option<&str>) -> Result<HeteroGraphShardManager> {
        self.relations(EdgeData { weight, ..EdgeData::default() })
    }

    /// Like [`hetero_graph`](Rank::hetero_graph), with the features `key` of the edge types that have them, for layers
    /// with edge features; a relation's [`Graph::edge_inputs`] returns them. One more collective.
    ///
    /// # Errors
    /// As for [`hetero_graph`](Rank::hetero_graph), or if no edge type has the feature.
    pub fn hetero_graph_with_edge_features(
        &self,
        weight: Option<&str>,
        key: &str,
    ) -> Result<HeteroGraphShardManager> {
        let mut graph = self.relations(EdgeData { weight, ids: true, ..EdgeData::default() })?;
        set_edge_sources(&self.setup, &mut graph, key)?;
        Ok(graph)
    }

    fn relations(&self, columns: EdgeData<'_>) -> Result<HeteroGraphShardManager> {
        let RankSetup { manager, group, partition } = &self.setup;
        construct_full_hetero_graph(manager, group, partition, columns)
    }

    /// Features of the rank's nodes, `float32 [num_inner_nodes, width]`. They are never spilled, but read from the
    /// partition's file whenever they are used. `key` is the array's key or its last part; `None` means `feat` or
    /// `features`.
    ///
    /// # Errors
    /// If there is no such array, or several.
    pub fn features(&self, key: Option<&str>) -> Result<PointerTensor> {
        let features = NodeFeatures::find(&self.setup.partition, key, Normalize::None)?;
        Ok(self.setup.track_features(features.leaving_cache(true)))
    }

    /// Like [`features`](Rank::features), with rows of zeros for nodes of types without the feature: SAR's
    /// `expand_to_all`.
    ///
    /// # Errors
    /// If there is no such array, or several of different widths.
    pub fn expanded_features(&self, key: Option<&str>) -> Result<PointerTensor> {
        let features = NodeFeatures::expand_to_all(&self.setup.partition, key, Normalize::None)?;
        Ok(self.setup.track_features(features.leaving_cache(true)))
    }

    /// Classes of the rank's nodes, `int64 [num_inner_nodes]`. A node without a class has a negative number: that in the
    /// file, or -1.
    ///
    /// # Errors
    /// If the array does not exist, or does not hold classes.
    pub fn labels(&self, key: Option<&str>) -> Result<PointerTensor> {
        let labels = load_labels(&self.setup.partition, key)?;
        Ok(self.manager().track("labels", labels))
    }

    /// Targets of the rank's nodes, `float32 [num_inner_nodes, width]`: multiple labels, or numbers.
    ///
    /// # Errors
    /// If there is no such array.
    pub fn targets(&self, key: Option<&str>, what: Targets) -> Result<PointerTensor> {
        let targets = load_targets(&self.setup.partition, key, what)?;
        Ok(self.manager().track("targets", targets))
    }

    /// A mask of the rank's nodes, for example `train_mask`: `bool [num_inner_nodes]`.
    ///
    /// # Errors
    /// If there is no such array.
    pub fn mask(&self, key: &str) -> Result<PointerTensor> {
        let partition = &self.setup.partition;
        let mask = load_mask(partition, Some(key), key)?
            .ok_or_else(|| Error::input(partition.node_features().path(), key, "is missing"))?;
        Ok(self.manager().track("mask", mask))
    }

    /// Masks of training, validation and test nodes under the usual keys `train_mask`, `val_mask` and `test_mask`. A
    /// missing mask selects no node.
    ///
    /// # Errors
    /// If a mask does not have one value per node.
    pub fn masks(&self) -> Result<Masks> {
        let partition = &self.setup.partition;
        let nodes = partition.num_inner_nodes() as i64;
        let read = |name: &str| -> Result<PointerTensor> {
            let mask = match load_mask(partition, None, name)? {
                Some(mask) => mask,
                None => Tensor::f_zeros([nodes], (Kind::Bool, Device::Cpu))?,
            };
            Ok(self.manager().track("mask", mask))
        };
        Ok(Masks { train: read("train_mask")?, val: read("val_mask")?, test: read("test_mask")? })
    }

    /// Features of the edges of `graph`, `float32 [num_edges, width]`, in the order of [`Graph::shards`], for
    /// [`Tape::propagate`](crate::engine::tape::Tape::propagate). `graph` must come from [`graph`](Rank::graph) with
    /// [`EdgeData::ids`].
    ///
    /// # Errors
    /// If there is no such array, or the graph was not loaded with the ids of edges.
    pub fn edge_features(&self, graph: &dyn Graph, key: &str) -> Result<PointerTensor> {
        let RankSetup { manager, partition, .. } = &self.setup;
        let features = EdgeFeatures::find(partition, key, manager.store().counters().clone())?;
        let values = features.read(&graph.edge_ids()?, Kind::Float)?;
        Ok(manager.track("edge-features", values))
    }

    /// Replaces every rank's parameters by those of rank 0: SAR's `sync_params`. One collective.
    ///
    /// # Errors
    /// If another rank fails.
    pub fn sync_params(&self, parameters: &ParameterSet) -> Result<()> {
        self.setup.sync(parameters)
    }

    /// Sums gradients and other numbers (losses, counts of hits) over all ranks: SAR's `gather_grads`. One collective.
    ///
    /// # Errors
    /// If ranks pass different parameters or numbers.
    pub fn gather_grads(
        &self,
        parameters: &ParameterSet,
        gradients: Gradients,
        numbers: &[f64],
    ) -> Result<Gathered> {
        let flat = parameters.flat_gradients(&gradients)?;
        drop(gradients);
        let (gradient, numbers) = self.reduce(Some(flat), numbers)?;
        let gradient = gradient.ok_or_else(|| Error::internal("gathering lost a tensor"))?;
        Ok(Gathered { gradient, numbers })
    }

    /// Sums numbers over all ranks. One collective.
    ///
    /// # Errors
    /// If ranks pass different counts of numbers.
    pub fn sum(&self, numbers: &[f64]) -> Result<Vec<f64>> {
        Ok(self.reduce(None, numbers)?.1)
    }

    /// The largest of the ranks' numbers, position by position. One collective.
    ///
    /// # Errors
    /// If ranks pass different counts of numbers.
    pub fn max(&self, numbers: &[f64]) -> Result<Vec<f64>> {
        let numbers = vec![Tensor::f_from_slice(numbers)?];
        let largest = comm::all_reduce(self.group(), numbers, ReduceOp::Max, &**self.manager())?;
        let largest = largest.into_iter().map(Vec::<f64>::try_from).collect::<Result<Vec<_>, _>>();
        Ok(largest?.concat())
    }

    /// The sums of a tensor, if there is one, and of numbers over all ranks.
    fn reduce(
        &self,
        tensor: Option<Tensor>,
        numbers: &[f64],
    ) -> Result<(Option<Tensor>, Vec<f64>)> {
        let manager = self.manager();
        let io = self.mark.borrow_mut().take_uncounted(manager);
        let mut tensors: Vec<Tensor> = tensor.into_iter().collect();
        tensors.push(Tensor::f_from_slice(&[numbers, &io].concat())?);
        let mut sums = comm::all_reduce(self.group(), tensors, ReduceOp::Sum, &**manager)?;
        let last = sums.pop().map(Vec::<f64>::try_from).transpose()?.unwrap_or_default();
        let (numbers, io) = last.split_at(numbers.len());
        let io = io.try_into().map_err(|_| Error::internal("gathering lost numbers"))?;
        self.mark.borrow_mut().gather(io);
        Ok((sums.pop(), numbers.to_vec()))
    }

    /// Reports the end of an epoch: a line of `metrics.jsonl` and an [`Event::Log`]. All ranks call this with the same
    /// values; rank 0 reports them. The launcher then uses the memory measured in this epoch to decide how much ranks may
    /// keep in the next one.
    ///
    /// # Errors
    /// If the launcher is gone.
    pub fn end_epoch(&self, epoch: u32, values: &[(&str, f64)]) -> Result<()> {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let log = self.mark.borrow_mut().end_epoch(self.manager(), epoch, values);
        let lock = self.manager().lock();
        lock.status().epoch.set(epoch + 1);
        lock.number_turns();
        if self.index() == 0 { self.here.events.send(Event::Log(log)) } else { Ok(()) }
    }

    /// Shows the user a note.
    ///
    /// # Errors
    /// If the launcher is gone.
    pub fn note(&self, text: impl Into<String>) -> Result<()> {
        self.here.events.send(Event::Note(text.into()))
    }

    /// Whether the job has a folder for [saved](Rank::save) states.
    pub fn saves(&self) -> bool {
        self.out.is_some()
    }

    /// Saves a state from which the job can resume; all ranks call this with the same state.
    /// [`Job::out`](super::Job::out) keeps the last two.
    ///
    /// # Errors
    /// If the job has no folder of results, or the file cannot be written.
    pub fn save(&self, state: &SavedState<'_>) -> Result<()> {
        let path = self.pending(state.epoch)?;
        if self.index() != 0 {
            return Ok(());
        }
        state.write(&path, self.group(), self.manager())?;
        self.here.events.send(Event::Checkpoint(state.epoch))
    }

    fn pending(&self, epoch: u32) -> Result<PathBuf> {
        match self.out {
            Some(out) => Ok(pending_checkpoint(out, epoch)),
            None => Err(Error::config("out", "a job that saves its state needs a folder for it")),
        }
    }

    /// Restores parameters and optimizer from the last saved state, if the job is resumed and there is one.
    ///
    /// # Errors
    /// If the state belongs to another model.
    pub fn restore(
        &self,
        parameters: &ParameterSet,
        optimizer: &mut Optimizer,
    ) -> Result<Option<RestoredState>> {
        let read = |path| RestoredState::read(path, parameters, optimizer, self.manager());
        self.restored.map(read).transpose()
    }

    /// Ends the rank's work together with the other ranks', and copies to all machines a file that each rank has written
    /// at its own path.
    pub(super) fn end(self, path_of: &dyn Fn(usize) -> PathBuf) -> Result<()> {
        let ranks = self.setup.ranks();
        end_together(ranks.group, ranks.hooks)?;
        if spans_machines(ranks.group) {
            share_files(path_of, ranks)?;
        }
        self.setup.end()
    }
}

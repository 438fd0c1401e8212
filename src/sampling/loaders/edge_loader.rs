//! Loaders of batches of one rank's edges.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tch::Tensor;

use super::config::DataLoaderConfig;
use super::graph::SampledGraph;
use super::mini_batch::MiniBatch;
use super::negatives::NegativeSampler;
use super::neighbor_sampler::DistNeighborSampler;
use super::seed_loader::{Loader, LoaderTask, NeighborTask};
use crate::engine::comm::Ranks;
use crate::sampling::stores::{GraphSource, SampleKey};
use crate::words::error::Result;

/// A function that returns the reverse of an edge, both by global id.
pub type ReverseEdge = dyn Fn(u64) -> u64 + Send + Sync;

/// Edges that are left out of the blocks, so that a model does not see the edges it predicts.
#[derive(Clone)]
pub enum Exclude {
    /// No edges.
    Nothing,
    /// The edges of the batch (DGL's `self`).
    Batch,
    /// The edges of the batch and their reverses (DGL's `reverse_id`, and `reverse_types` with a function that distinguishes
    /// types).
    WithReverse(Arc<ReverseEdge>),
    /// All edges between the two ends of an edge of the batch, in either direction, including reverses and parallel edges.
    BetweenEnds,
    /// All edges of these types, by id, between the two ends of an edge of the batch, in either direction. With the
    /// types of the batch's edges and of their reverses, these are the edges of DGL's `reverse_types` and edges
    /// parallel to them.
    BetweenEndsOf(Vec<usize>),
}

/// Pairs of nodes, as rows of the last block's output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Row of each source.
    pub sources: Vec<i64>,
    /// Row of each destination.
    pub destinations: Vec<i64>,
}

impl Pairs {
    /// The rows of sources and of destinations as tensors, `int64 [pairs]`.
    ///
    /// # Errors
    /// If memory for the pairs runs out (`Tensor`).
    pub fn tensors(&self) -> Result<[Tensor; 2]> {
        Ok([Tensor::f_from_slice(&self.sources)?, Tensor::f_from_slice(&self.destinations)?])
    }
}

/// A batch of edges with negative pairs, and the sampled neighbourhood of all their ends.
pub struct EdgeMiniBatch {
    /// Global ids of the edges.
    pub edges: Vec<u64>,
    /// The ends of the edges: DGL's `pair_graph`.
    pub positive: Pairs,
    /// Negative pairs, which are not edges of the batch: DGL's `neg_graph`; empty without a negative sampler.
    pub negative: Pairs,
    /// The blocks; their seeds are the ends of all pairs, each once.
    pub neighbourhood: MiniBatch,
}

/// A loader of batches of edges: DGL's `DistEdgeDataLoader`.
///
/// ```
/// use std::sync::Arc;
///
/// use sar::engine::comm::Ranks;
/// use sar::formats::dgl::config::PartitionConfig;
/// use sar::sampling::loaders::{DataLoaderConfig, DistEdgeDataLoader, DistNeighborSampler, Exclude, NegativeSampler};
/// use sar::sampling::stores::{DistGraph, Fanout, IndexConfig};
/// use sar::testing::on_ranks;
///
/// let folder = tempfile::tempdir().expect("a folder");
/// let config = PartitionConfig::open("data/karate/karate.json".as_ref())?;
/// let keys = IndexConfig { ends: true, ..IndexConfig::default() };
/// let graph = Arc::new(DistGraph::create(&config, &keys, folder.path())?);
/// let sizes = on_ranks(1, 1, |rank| {
///     let ranks = Ranks { group: &*rank.group, hooks: &*rank.manager };
///     let sampler = DistNeighborSampler::new(vec![Fanout::Total(2)])?;
///     let config = DataLoaderConfig { batch_size: 4, ..DataLoaderConfig::default() };
///     let negatives = Some(NegativeSampler::PerSourceUniform(3));
///     let (edges, exclude) = ((0..6).collect(), Exclude::Batch);
///     let loader = DistEdgeDataLoader::new(graph.clone(), edges, sampler, exclude, negatives, config, ranks)?;
///     let size = |batch: sar::Result<sar::sampling::loaders::EdgeMiniBatch>| {
///         let batch = batch?;
///         Ok([batch.positive.sources.len(), batch.negative.sources.len()])
///     };
///     loader.epoch(1).map(size).collect::<sar::Result<Vec<_>>>()
/// })?;
/// assert_eq!(sizes, [[[4, 12], [2, 6]]]);
/// # Ok::<(), sar::Error>(())
/// ```
pub type DistEdgeDataLoader = Loader<EdgeTask>;

/// A loader task that samples the neighbourhoods of edges' ends.
pub struct EdgeTask {
    sampler: DistNeighborSampler,
    exclude: Exclude,
    negatives: Option<NegativeSampler>,
}

impl DistEdgeDataLoader {
    /// A loader of this rank's `edges` (homogeneous ids without duplicates) in a graph that was opened with
    /// [`IndexConfig::ends`](crate::sampling::stores::IndexConfig::ends). One collective, as in
    /// [`DataLoader::new`](super::DataLoader::new).
    ///
    /// # Errors
    /// If the batch size is 0.
    pub fn new(
        graph: impl Into<SampledGraph>,
        edges: Vec<u64>,
        sampler: DistNeighborSampler,
        exclude: Exclude,
        negatives: Option<NegativeSampler>,
        config: DataLoaderConfig,
        ranks: Ranks<'_>,
    ) -> Result<Self> {
        Loader::with_task(graph, EdgeTask { sampler, exclude, negatives }, edges, config, ranks)
    }
}

impl NeighborTask for EdgeTask {
    fn sampler(&self) -> &DistNeighborSampler {
        &self.sampler
    }
}

impl LoaderTask for EdgeTask {
    type Item = EdgeMiniBatch;

    fn sample(
        &self,
        graph: &dyn GraphSource,
        edges: &[u64],
        key: SampleKey,
    ) -> Result<EdgeMiniBatch> {
        let (sources, destinations) = graph.find_edges(edges)?;
        let negatives = self.negatives.map(|n| n.draw(graph, edges, &sources, key));
        let (negative_sources, negative_destinations) = negatives.transpose()?.unwrap_or_default();
        let mut seeds = Seeds::default();
        let positive = seeds.pairs(&sources, &destinations);
        let negative = seeds.pairs(&negative_sources, &negative_destinations);
        let sample = |excluded: Option<&dyn Fn(u64, u64, u64) -> bool>| {
            self.sampler.sample_without(graph, &seeds.nodes, excluded, key)
        };
        let by_id = |ids: HashSet<u64>| sample(Some(&|_, _, edge| ids.contains(&edge)));
        let neighbourhood = match &self.exclude {
            Exclude::Nothing => sample(None)?,
            Exclude::Batch => by_id(edges.iter().copied().collect())?,
            Exclude::WithReverse(reverse) => {
                by_id(edges.iter().flat_map(|edge| [*edge, reverse(*edge)]).collect())?
            }
            Exclude::BetweenEnds => {
                let ends = ends(&sources, &destinations);
                sample(Some(&|a, b, _| ends.contains(&(a.min(b), a.max(b)))))?
            }
            Exclude::BetweenEndsOf(etypes) => {
                let ends = ends(&sources, &destinations);
                let book = graph.book();
                let of_type =
                    |edge| book.edge_type(edge).is_some_and(|etype| etypes.contains(&etype));
                sample(Some(&|a, b, edge| ends.contains(&(a.min(b), a.max(b))) && of_type(edge)))?
            }
        };
        Ok(EdgeMiniBatch { edges: edges.to_vec(), positive, negative, neighbourhood })
    }
}

/// Pairs of ends, each with the smaller id first.
fn ends(sources: &[u64], destinations: &[u64]) -> HashSet<(u64, u64)> {
    sources.iter().zip(destinations).map(|(a, b)| (*a.min(b), *a.max(b))).collect()
}

/// Nodes without duplicates, in the order of their first occurrence.
#[derive(Default)]
struct Seeds {
    nodes: Vec<u64>,
    rows: HashMap<u64, i64>,
}

impl Seeds {
    fn pairs(&mut self, sources: &[u64], destinations: &[u64]) -> Pairs {
        let mut rows = |nodes: &[u64]| nodes.iter().map(|node| self.row(*node)).collect();
        Pairs { sources: rows(sources), destinations: rows(destinations) }
    }

    fn row(&mut self, node: u64) -> i64 {
        *self.rows.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            self.nodes.len() as i64 - 1
        })
    }
}

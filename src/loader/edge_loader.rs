//! The batches of one rank's edges.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tch::Tensor;

use super::batches::{Batches, Source};
use super::config::DataLoaderConfig;
use super::edge_batch::{EdgeBatch, Pairs};
use super::negatives::NegativeSampler;
use super::neighbor_sampler::DistNeighborSampler;
use super::schedule::Schedule;
use crate::comm::{Hooks, ProcessGroup};
use crate::dist::{DistGraph, SampleKey};
use crate::error::Result;

/// Finds the reverse of an edge, both by global id.
pub type ReverseEdge = dyn Fn(u64) -> u64 + Send + Sync;

/// Which edges are left out of the blocks, so that a model does not see what it is to predict.
#[derive(Clone)]
pub enum Exclude {
    /// None.
    Nothing,
    /// The edges of the batch (DGL's `self`).
    Batch,
    /// They and their reverses (DGL's `reverse_id`, and `reverse_types` with a function that looks at types).
    WithReverse(Arc<ReverseEdge>),
    /// All edges between the two ends of an edge of the batch, in either direction: reverses and parallel edges, too.
    BetweenEnds,
}

/// DGL's `DistEdgeDataLoader`: cuts one rank's edges into batches and samples the neighbourhoods of their ends.
pub struct DistEdgeDataLoader {
    task: Arc<EdgeTask>,
}

struct EdgeTask {
    graph: Arc<DistGraph>,
    sampler: DistNeighborSampler,
    schedule: Schedule,
    exclude: Exclude,
    negatives: Option<NegativeSampler>,
}

impl DistEdgeDataLoader {
    /// A loader of this rank's `edges` (homogeneous ids, each named once) in a graph that was opened with
    /// [`IndexConfig::ends`](crate::dist::IndexConfig::ends); one collective, as in [`DataLoader::new`](super::DataLoader::new).
    ///
    /// # Errors
    /// If the batch size is 0.
    pub fn new(
        graph: Arc<DistGraph>,
        edges: Vec<u64>,
        sampler: DistNeighborSampler,
        (exclude, negatives): (Exclude, Option<NegativeSampler>),
        config: DataLoaderConfig,
        ranks: (&dyn ProcessGroup, &dyn Hooks),
    ) -> Result<Self> {
        let schedule = Schedule::new(edges, config, ranks)?;
        Ok(DistEdgeDataLoader {
            task: Arc::new(EdgeTask { graph, sampler, schedule, exclude, negatives }),
        })
    }

    /// Batches per epoch, the same on every rank.
    pub fn len(&self) -> usize {
        self.task.schedule.steps()
    }

    /// Whether no rank has a batch.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The graph that is sampled.
    pub fn graph(&self) -> &Arc<DistGraph> {
        &self.task.graph
    }

    /// Batches of this rank's own edges; those behind them repeat.
    pub fn own_len(&self) -> usize {
        self.task.schedule.num_batches()
    }

    /// The sampler.
    pub fn sampler(&self) -> &DistNeighborSampler {
        &self.task.sampler
    }

    /// The batches of an epoch. Sampling starts at once; dropped before its end, it stops.
    pub fn epoch(&self, epoch: u32) -> Batches<EdgeBatch> {
        Batches::start(self.task.clone(), epoch)
    }
}

impl Source for EdgeTask {
    type Item = EdgeBatch;

    fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    fn sample(&self, edges: &[u64], key: SampleKey) -> Result<EdgeBatch> {
        let (sources, destinations) = self.graph.find_edges(edges)?;
        let negatives = self.negatives.map(|n| n.draw(&self.graph, (edges, &sources), key));
        let (negative_sources, negative_destinations) = negatives.transpose()?.unwrap_or_default();
        let mut seeds = Seeds::default();
        let positive = seeds.pairs(&sources, &destinations);
        let negative = seeds.pairs(&negative_sources, &negative_destinations);
        let sample = |excluded: Option<&dyn Fn(u64, u64, u64) -> bool>| {
            self.sampler.sample_without(&self.graph, &seeds.nodes, excluded, key)
        };
        let by_id = |ids: HashSet<u64>| sample(Some(&|_, _, edge| ids.contains(&edge)));
        let neighbourhood = match &self.exclude {
            Exclude::Nothing => sample(None)?,
            Exclude::Batch => by_id(edges.iter().copied().collect())?,
            Exclude::WithReverse(reverse) => {
                by_id(edges.iter().flat_map(|edge| [*edge, reverse(*edge)]).collect())?
            }
            Exclude::BetweenEnds => {
                let ends = sources.iter().copied().zip(destinations.iter().copied());
                let ends: HashSet<(u64, u64)> = ends.map(|(a, b)| (a.min(b), a.max(b))).collect();
                sample(Some(&|a, b, _| ends.contains(&(a.min(b), a.max(b)))))?
            }
        };
        Ok(EdgeBatch { edges: edges.to_vec(), positive, negative, neighbourhood })
    }
}

/// Nodes in the order in which they are first named.
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

impl Pairs {
    /// The rows of sources and of destinations as tensors, `int64 [pairs]`.
    pub fn tensors(&self) -> Result<[Tensor; 2]> {
        Ok([Tensor::f_from_slice(&self.sources)?, Tensor::f_from_slice(&self.destinations)?])
    }
}

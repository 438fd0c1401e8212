//! The part that all loaders share.

use std::sync::Arc;

use super::batches::Batches;
use super::config::DataLoaderConfig;
use super::graph::SampledGraph;
use super::neighbor_sampler::DistNeighborSampler;
use super::schedule::BatchSchedule;
use crate::engine::comm::Ranks;
use crate::error::Result;
use crate::sampling::stores::{GraphSource, SampleKey};

/// How a loader turns the seeds of a batch into a batch. Programs may have their own tasks, for [`Loader::with_task`].
pub trait LoaderTask: Send + Sync + 'static {
    /// Type of a batch.
    type Item: Send + 'static;

    /// Makes the batch of some seeds: a pure function, which several threads may call.
    ///
    /// # Errors
    /// If a seed does not exist or is named twice, or a file cannot be read.
    fn sample(&self, graph: &dyn GraphSource, seeds: &[u64], key: SampleKey) -> Result<Self::Item>;
}

/// A task that draws neighbourhoods with a [`DistNeighborSampler`].
pub trait NeighborTask: LoaderTask {
    /// The sampler of neighbourhoods.
    fn sampler(&self) -> &DistNeighborSampler;
}

/// A loader that cuts one rank's seeds (nodes, or edges) into batches and samples their neighbourhoods. An epoch's batches are
/// a pure function of the configuration, the seeds, the rank and the epoch, whether they come from files or from other ranks.
pub struct Loader<T> {
    graph: SampledGraph,
    task: Arc<T>,
    pub(super) schedule: Arc<BatchSchedule>,
}

impl<T: LoaderTask> Loader<T> {
    /// A loader with a program's own task; one collective, in which the ranks agree on the largest number of batches of any
    /// rank. Ranks with fewer repeat theirs (with other neighbours); a rank without seeds gets batches without seeds. So all ranks
    /// make the same number of steps.
    ///
    /// # Errors
    /// If the batch size is 0.
    pub fn with_task(
        graph: impl Into<SampledGraph>,
        task: T,
        seeds: Vec<u64>,
        config: DataLoaderConfig,
        ranks: Ranks<'_>,
    ) -> Result<Self> {
        let schedule = Arc::new(BatchSchedule::new(seeds, config, ranks)?);
        Ok(Loader { graph: graph.into(), task: Arc::new(task), schedule })
    }

    /// The same loader with batches that were grouped beforehand.
    pub(super) fn with_batches(self, batches: Vec<Vec<u64>>) -> Self {
        Loader { schedule: Arc::new(self.schedule.with_batches(batches)), ..self }
    }

    /// Number of batches per epoch, the same on every rank.
    pub fn len(&self) -> usize {
        self.schedule.steps()
    }

    /// Whether no rank has a batch.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of batches of this rank's own seeds; the batches after those are repetitions.
    pub fn own_len(&self) -> usize {
        self.schedule.num_batches()
    }

    /// The batches of epoch 0 that an evaluation goes through: this rank's own ones. If others are asked for each batch, all ranks go
    /// through as many; `None` stands for those after the own ones.
    pub fn each_seed_once(&self) -> impl Iterator<Item = Option<Result<T::Item>>> + use<T> {
        let own = self.own_len();
        let count = match self.graph {
            SampledGraph::Files(_) => own,
            SampledGraph::Ranks(_) => self.len(),
        };
        let batches = self.epoch(0).take(count).enumerate();
        batches.map(move |(number, batch)| (number < own || batch.is_err()).then_some(batch))
    }

    /// The graph that is sampled.
    pub fn graph(&self) -> &dyn GraphSource {
        self.graph.source()
    }

    /// The batches of an epoch. Sampling starts at once; it stops when the iterator is dropped.
    pub fn epoch(&self, epoch: u32) -> Batches<T::Item> {
        let (task, schedule) = (self.task.clone(), self.schedule.clone());
        let order = Arc::new(schedule.order(epoch));
        let steps = schedule.steps();
        let threads = schedule.config.sampler_threads;
        let sample = move |graph: &dyn GraphSource, step: usize| {
            let (seeds, key) = schedule.batch(epoch, &order, step);
            task.sample(graph, seeds, key)
        };
        match self.graph.clone() {
            SampledGraph::Files(graph) if threads > 0 => {
                Batches::ahead(steps, threads, move |step| sample(&*graph, step))
            }
            graph => Batches::on_demand(steps, move |step| sample(graph.source(), step)),
        }
    }
}

impl<T: NeighborTask> Loader<T> {
    /// The sampler of neighbourhoods.
    pub fn sampler(&self) -> &DistNeighborSampler {
        self.task.sampler()
    }

    /// Keeps as many rows of the input features in memory as fit in `bytes` bytes, those of the nodes that are drawn most
    /// often, until the sampler [drops](DistNeighborSampler::forget_rows) them. Rows that other ranks send are never kept.
    ///
    /// # Errors
    /// If an index or a feature cannot be read.
    pub fn keep_rows(&self, bytes: u64) -> Result<()> {
        match &self.graph {
            SampledGraph::Files(graph) => self.sampler().keep_rows(graph, bytes),
            SampledGraph::Ranks(_) => Ok(()),
        }
    }
}

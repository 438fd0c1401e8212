//! The loader that all tasks share.

use std::sync::Arc;

use super::batches::Batches;
use super::config::DataLoaderConfig;
use super::graph::SampledGraph;
use super::neighbor_sampler::DistNeighborSampler;
use super::schedule::BatchSchedule;
use crate::engine::comm::Ranks;
use crate::sampling::stores::{GraphSource, SampleKey};
use crate::words::error::Result;

/// How a loader turns a batch's seeds into a batch. Programs can implement it for [`Loader::with_task`].
pub trait LoaderTask: Send + Sync + 'static {
    /// Type of a batch.
    type Item: Send + 'static;

    /// Makes the batch of some seeds. It must be pure; several threads may call it.
    ///
    /// # Errors
    /// If a seed does not exist or is named twice, or a file cannot be read.
    fn sample(&self, graph: &dyn GraphSource, seeds: &[u64], key: SampleKey) -> Result<Self::Item>;
}

/// The task of calling a function for each batch.
impl<F, B> LoaderTask for F
where
    F: Fn(&dyn GraphSource, &[u64], SampleKey) -> Result<B> + Send + Sync + 'static,
    B: Send + 'static,
{
    type Item = B;

    fn sample(&self, graph: &dyn GraphSource, seeds: &[u64], key: SampleKey) -> Result<B> {
        self(graph, seeds, key)
    }
}

/// A loader task that draws neighbourhoods with a [`DistNeighborSampler`].
pub trait NeighborTask: LoaderTask {
    /// The sampler of neighbourhoods.
    fn sampler(&self) -> &DistNeighborSampler;
}

/// A loader that divides one rank's seeds (nodes or edges) into batches and samples their neighbourhoods. The batches
/// of an epoch are a pure function of the configuration, the seeds, the rank and the epoch, whether the graph is read
/// from files or requested from other ranks.
pub struct Loader<T> {
    graph: SampledGraph,
    task: Arc<T>,
    pub(super) schedule: Arc<BatchSchedule>,
}

impl<T: LoaderTask> Loader<T> {
    /// A loader with the program's own task. All ranks make the same number of steps, the largest number of batches of
    /// any rank: a rank with fewer batches repeats them (with other neighbours), a rank without seeds gets empty
    /// batches. One collective.
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

    /// A loader whose batches `collate_fn` makes from the graph, a batch's seeds and the sample's key: DGL's
    /// `DistDataLoader` with a `collate_fn`. The function must be pure, because any thread may call it. One collective.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use sar::engine::comm::Ranks;
    /// use sar::formats::dgl::config::PartitionConfig;
    /// use sar::sampling::loaders::{DataLoaderConfig, Loader};
    /// use sar::sampling::stores::{DistGraph, Fanout, IndexConfig, Sampling};
    /// use sar::testing::on_ranks;
    ///
    /// let folder = tempfile::tempdir().expect("a folder");
    /// let config = PartitionConfig::open("data/karate/karate.json".as_ref())?;
    /// let graph = Arc::new(DistGraph::create(&config, &IndexConfig::default(), folder.path())?);
    /// let drawn = on_ranks(1, 1, |rank| {
    ///     let ranks = Ranks { group: &*rank.group, hooks: &*rank.manager };
    ///     let config = DataLoaderConfig { batch_size: 4, ..DataLoaderConfig::default() };
    ///     let loader = Loader::with_collate_fn(graph.clone(), (0..10).collect(), config, ranks, |graph, seeds, key| {
    ///         let how = Sampling { fanout: Fanout::Total(1), replace: false, weighted: false };
    ///         Ok(graph.sample_neighbors(seeds, &how, key)?.sources.len())
    ///     })?;
    ///     loader.epoch(1).collect::<sar::Result<Vec<usize>>>()
    /// })?;
    /// assert_eq!(drawn, [[4, 4, 2]]);
    /// # Ok::<(), sar::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the batch size is 0.
    pub fn with_collate_fn<B>(
        graph: impl Into<SampledGraph>,
        seeds: Vec<u64>,
        config: DataLoaderConfig,
        ranks: Ranks<'_>,
        collate_fn: T,
    ) -> Result<Self>
    where
        T: Fn(&dyn GraphSource, &[u64], SampleKey) -> Result<B>,
    {
        Loader::with_task(graph, collate_fn, seeds, config, ranks)
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

    /// Number of batches with this rank's own seeds; later batches are repetitions.
    pub fn own_len(&self) -> usize {
        self.schedule.num_batches()
    }

    /// Whether each batch is sampled on request.
    pub fn is_on_demand(&self) -> bool {
        self.schedule.config.sampler_threads == 0 || matches!(self.graph, SampledGraph::Ranks(_))
    }

    /// The rank's own batches of epoch 0, for an evaluation. With `drop_last`, seeds that do not fill a batch are left out.
    /// On a [`CollectiveGraph`](crate::sampling::stores::CollectiveGraph), a rank without further batches yields `None`
    /// until every rank has made the same number of steps.
    pub fn each_seed_once(&self) -> impl Iterator<Item = Option<Result<T::Item>>> + use<T> {
        let own = self.own_len();
        let count = match self.graph {
            SampledGraph::Files(_) | SampledGraph::Edgeless(_) => own,
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
            let (seeds, key) = schedule.batch(epoch, order.as_deref(), step);
            task.sample(graph, &seeds, key)
        };
        match self.graph.clone() {
            SampledGraph::Files(graph) if threads > 0 => {
                Batches::ahead(steps, threads, move |step| sample(&*graph, step))
            }
            SampledGraph::Edgeless(graph) if threads > 0 => {
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

    /// Keeps up to `bytes` bytes of input features in memory until the sampler
    /// [drops](DistNeighborSampler::forget_rows) them: the rows of the nodes that are drawn most often. Rows from other
    /// ranks are never kept.
    ///
    /// # Errors
    /// If an index or a feature cannot be read.
    pub fn keep_rows(&self, bytes: u64) -> Result<()> {
        match &self.graph {
            SampledGraph::Files(graph) => self.sampler().keep_rows(graph, bytes),
            SampledGraph::Ranks(_) | SampledGraph::Edgeless(_) => Ok(()),
        }
    }
}

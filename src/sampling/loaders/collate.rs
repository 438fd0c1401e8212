//! Batches made by the program's own function.

use std::marker::PhantomData;

use super::config::DataLoaderConfig;
use super::graph::SampledGraph;
use super::seed_loader::{Loader, LoaderTask};
use crate::engine::comm::Ranks;
use crate::error::Result;
use crate::sampling::stores::{GraphSource, SampleKey};

/// A loader task that calls a function for each batch.
pub struct CollateTask<F, B> {
    collate: F,
    batch: PhantomData<fn() -> B>,
}

impl<F, B> LoaderTask for CollateTask<F, B>
where
    F: Fn(&dyn GraphSource, &[u64], SampleKey) -> Result<B> + Send + Sync + 'static,
    B: Send + 'static,
{
    type Item = B;

    fn sample(&self, graph: &dyn GraphSource, seeds: &[u64], key: SampleKey) -> Result<B> {
        (self.collate)(graph, seeds, key)
    }
}

impl<F, B> Loader<CollateTask<F, B>>
where
    F: Fn(&dyn GraphSource, &[u64], SampleKey) -> Result<B> + Send + Sync + 'static,
    B: Send + 'static,
{
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
    pub fn with_collate_fn(
        graph: impl Into<SampledGraph>,
        seeds: Vec<u64>,
        config: DataLoaderConfig,
        ranks: Ranks<'_>,
        collate_fn: F,
    ) -> Result<Self> {
        let task = CollateTask { collate: collate_fn, batch: PhantomData };
        Loader::with_task(graph, task, seeds, config, ranks)
    }
}

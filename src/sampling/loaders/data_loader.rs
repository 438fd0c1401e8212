//! Loaders of batches of one rank's nodes.

use std::path::Path;

use super::config::DataLoaderConfig;
use super::graph::SampledGraph;
use super::mini_batch::MiniBatch;
use super::neighbor_sampler::DistNeighborSampler;
use super::seed_loader::{Loader, LoaderTask, NeighborTask};
use crate::engine::comm::Ranks;
use crate::graph::InEdges;
use crate::prepare::partition::{SeedGroups, seed_groups_file};
use crate::sampling::stores::{GraphSource, SampleKey};
use crate::words::error::Result;

/// A loader of batches of nodes: SAR's `DataLoader`, DGL's `DistNodeDataLoader`.
///
/// ```
/// use std::sync::Arc;
///
/// use sar::engine::comm::Ranks;
/// use sar::formats::dgl::config::PartitionConfig;
/// use sar::sampling::loaders::{DataLoader, DataLoaderConfig, DistNeighborSampler};
/// use sar::sampling::stores::{DistGraph, Fanout, IndexConfig};
/// use sar::testing::on_ranks;
///
/// let folder = tempfile::tempdir().expect("a folder");
/// let config = PartitionConfig::open("data/karate/karate.json".as_ref())?;
/// let graph = Arc::new(DistGraph::create(&config, &IndexConfig::default(), folder.path())?);
/// let sizes = on_ranks(1, 1, |rank| {
///     let ranks = Ranks { group: &*rank.group, hooks: &*rank.manager };
///     let sampler = DistNeighborSampler::new(vec![Fanout::Total(2)])?;
///     let config = DataLoaderConfig { batch_size: 4, ..DataLoaderConfig::default() };
///     let loader = DataLoader::new(graph.clone(), (0..10).collect(), sampler, config, ranks)?;
///     loader.epoch(1).map(|batch| Ok(batch?.seeds().len())).collect::<sar::Result<Vec<_>>>()
/// })?;
/// assert_eq!(sizes, [[4, 4, 2]]);
/// # Ok::<(), sar::Error>(())
/// ```
pub type DataLoader = Loader<NodeTask>;

/// DGL's name for [`DataLoader`].
pub type DistNodeDataLoader = DataLoader;

/// The task of sampling the neighbourhoods of nodes.
pub struct NodeTask {
    sampler: DistNeighborSampler,
}

impl DataLoader {
    /// A loader of this rank's `seeds` (homogeneous ids without duplicates). All ranks make the same number of steps,
    /// the largest number of batches of any rank: a rank with fewer batches repeats them (with other neighbours), a
    /// rank without seeds gets empty batches. One collective.
    ///
    /// # Errors
    /// If the batch size is 0.
    pub fn new(
        graph: impl Into<SampledGraph>,
        seeds: Vec<u64>,
        sampler: DistNeighborSampler,
        config: DataLoaderConfig,
        ranks: Ranks<'_>,
    ) -> Result<Self> {
        Loader::with_task(graph, NodeTask { sampler }, seeds, config, ranks)
    }

    /// Groups seeds that share many neighbours, so that a batch needs fewer rows: SAR's `precompute_optimized_batches`.
    /// METIS cuts the partitions of the seeds, in memory, into the same number of batches, none larger than before.
    /// Every epoch has these batches, in another order if they are shuffled. With `cache` (SAR's
    /// `optimized_batches_cache`), the rank's batches are stored in the file `<cache>_<rank>_<number of batches>`, or
    /// read from it if it exists. This process may grow to `memory` bytes, and METIS may take half of the free memory. All
    /// ranks call this.
    ///
    /// # Errors
    /// If METIS needs more memory, or the cache was made for another graph, other seeds, or another batch
    /// size or seed.
    pub fn precompute_optimized_batches(self, cache: Option<&Path>, memory: u64) -> Result<Self> {
        let schedule = &self.schedule;
        if schedule.is_grouped() {
            return Ok(self);
        }
        let DataLoaderConfig { batch_size, seed, .. } = schedule.config;
        let num_batches = schedule.steps();
        let seeds = &schedule.seeds[..];
        let groups = SeedGroups { seeds, batch_size, num_batches, seed, memory };
        let cache = cache.map(|prefix| seed_groups_file(prefix, schedule.rank, num_batches));
        let book = self.graph().book();
        let parts = (0..book.num_parts()).map(|part| book.node_range(part));
        let used = parts.filter(|range| schedule.seeds.iter().any(|seed| range.contains(seed)));
        let own: Vec<u64> = used.flatten().collect();
        let InEdges { counts, sources, .. } = self.graph().in_subgraph(&own)?;
        let batches = groups.batches(&own, &counts, sources, cache.as_deref())?;
        Ok(self.with_batches(batches))
    }
}

impl NeighborTask for NodeTask {
    fn sampler(&self) -> &DistNeighborSampler {
        &self.sampler
    }
}

impl LoaderTask for NodeTask {
    type Item = MiniBatch;

    fn sample(&self, graph: &dyn GraphSource, seeds: &[u64], key: SampleKey) -> Result<MiniBatch> {
        self.sampler.sample(graph, seeds, key)
    }
}

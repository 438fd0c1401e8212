//! The batches of one rank's nodes.

use std::sync::Arc;

use super::batches::{Batches, Source};
use super::config::DataLoaderConfig;
use super::mini_batch::MiniBatch;
use super::neighbor_sampler::DistNeighborSampler;
use super::schedule::Schedule;
use crate::comm::{Hooks, ProcessGroup};
use crate::dist::{DistGraph, SampleKey};
use crate::error::Result;

/// Cuts one rank's seeds into batches and samples their neighbourhoods: SAR's `DataLoader`, DGL's `DistNodeDataLoader`. An
/// epoch's batches are a pure function of the configuration, the seeds, the rank and the epoch.
pub struct DataLoader {
    task: Arc<NodeTask>,
}

/// DGL's name of the [`DataLoader`].
pub type DistNodeDataLoader = DataLoader;

struct NodeTask {
    graph: Arc<DistGraph>,
    sampler: DistNeighborSampler,
    schedule: Schedule,
}

impl DataLoader {
    /// A loader of this rank's `seeds` (homogeneous ids, each named once); one collective, in which the ranks learn how many
    /// batches the rank with the most of them has. Ranks with fewer repeat theirs (with other neighbours); a rank without
    /// seeds gets batches without seeds. So all ranks make the same number of steps.
    ///
    /// # Errors
    /// If the batch size is 0.
    pub fn new(
        graph: Arc<DistGraph>,
        seeds: Vec<u64>,
        sampler: DistNeighborSampler,
        config: DataLoaderConfig,
        ranks: (&dyn ProcessGroup, &dyn Hooks),
    ) -> Result<Self> {
        let schedule = Schedule::new(seeds, config, ranks)?;
        Ok(DataLoader { task: Arc::new(NodeTask { graph, sampler, schedule }) })
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

    /// The sampler.
    pub fn sampler(&self) -> &DistNeighborSampler {
        &self.task.sampler
    }

    /// The batches of an epoch. Sampling starts at once; dropped before its end, it stops.
    pub fn epoch(&self, epoch: u32) -> Batches<MiniBatch> {
        Batches::start(self.task.clone(), epoch)
    }
}

impl Source for NodeTask {
    type Item = MiniBatch;

    fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    fn sample(&self, seeds: &[u64], key: SampleKey) -> Result<MiniBatch> {
        self.sampler.sample(&self.graph, seeds, key)
    }
}

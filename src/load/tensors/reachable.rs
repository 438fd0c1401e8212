//! Partitions whose files a rank can read.

use std::ops::Range;

use crate::formats::dgl::Partition;
use crate::formats::dgl::config::PartitionConfig;

/// A partition directory, and its partitions whose files are here: all, or one if each rank has its own disk.
#[derive(Debug, Clone)]
pub struct Reachable<'c> {
    pub(super) config: &'c PartitionConfig,
    pub(super) parts: Range<usize>,
}

impl<'c> Reachable<'c> {
    /// A directory of which only one partition's files are here.
    pub fn only(config: &'c PartitionConfig, part: usize) -> Self {
        Reachable { config, parts: part..part + 1 }
    }
}

impl<'c> From<&'c Partition> for Reachable<'c> {
    fn from(partition: &'c Partition) -> Self {
        Reachable::only(partition.topology().config(), partition.part())
    }
}

impl<'c> From<&'c PartitionConfig> for Reachable<'c> {
    fn from(config: &'c PartitionConfig) -> Self {
        Reachable { config, parts: 0..config.parts().len() }
    }
}

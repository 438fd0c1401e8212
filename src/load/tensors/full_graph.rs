//! The whole graph, from one rank's view.

use std::rc::Rc;

use crate::engine::comm::ProcessGroup;
use crate::engine::spill::PartitionDataManager;
use crate::engine::tape::{GraphShardManager, HeteroGraphShardManager};
use crate::formats::dgl::Partition;
use crate::load::relations::load_relations;
use crate::load::shards::{EdgeData, Shards};
use crate::words::error::Result;

/// Creates the graph of all edges into the partition's nodes: SAR's `construct_full_graph`. `edges` selects the data of
/// each edge. One collective.
///
/// ```
/// use sar::engine::tape::Graph;
/// use sar::formats::dgl::Partition;
/// use sar::formats::dgl::config::PartitionConfig;
/// use sar::load::{EdgeData, construct_full_graph};
/// use sar::testing::on_ranks;
///
/// let config = PartitionConfig::open("data/karate/karate.json".as_ref())?;
/// let degrees = on_ranks(config.parts().len(), 1, |rank| {
///     let partition = Partition::open(&config, rank.rank)?;
///     let graph = construct_full_graph(&rank.manager, &rank.group, &partition, EdgeData::default())?;
///     Ok(graph.num_edges()? as u64)
/// })?;
/// assert_eq!(degrees.iter().sum::<u64>(), config.book().num_edges());
/// # Ok::<(), sar::Error>(())
/// ```
///
/// # Errors
/// If the partition's files are damaged or lack data that `edges` requests, or another rank fails.
pub fn construct_full_graph(
    manager: &Rc<PartitionDataManager>,
    group: &Rc<dyn ProcessGroup>,
    partition: &Partition,
    edges: EdgeData<'_>,
) -> Result<GraphShardManager> {
    let Shards { shards, sources } = Shards::load(partition, edges)?;
    let shards = shards.into_iter().map(|shard| manager.track_shard("shard", shard)).collect();
    let first_node = partition.book().node_range(partition.part()).start;
    GraphShardManager::new(manager, group, shards, first_node, sources)
}

/// Like [`construct_full_graph`], with a graph per edge type, in which nodes are numbered within their types. One collective
/// per edge type.
///
/// # Errors
/// As for [`construct_full_graph`].
pub fn construct_full_hetero_graph(
    manager: &Rc<PartitionDataManager>,
    group: &Rc<dyn ProcessGroup>,
    partition: &Partition,
    edges: EdgeData<'_>,
) -> Result<HeteroGraphShardManager> {
    let shards = load_relations(partition, edges)?.into_iter();
    let shards = shards.map(|Shards { shards, sources }| (shards, sources)).collect();
    HeteroGraphShardManager::new(manager, group, partition.book(), shards)
}

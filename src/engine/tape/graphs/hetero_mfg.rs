//! Message flow graphs of a graph with several node and edge types.

use super::edges_into::{EdgesInto, EndKind, TakenDestinations, pick, union};
use super::graph::Graph;
use super::hetero::{HeteroGraph, HeteroGraphShardManager, Relation};
use super::mfg::Mfgs;
use crate::words::error::{Error, Result};

/// Message flow graphs, one per layer; their nodes are rows by node type.
pub type HeteroMfgs = Mfgs<HeteroGraphShardManager, Vec<Vec<u32>>>;

/// Creates one graph per layer; the destinations of the last one are `seeds`, own rows, ascending, by node type. See
/// [`construct_mfgs`](super::mfg::construct_mfgs). One collective per layer and relation.
///
/// # Errors
/// If a message cannot be written or read (`Io`, `OutOfDisk`, `Corrupt`), or the run is being stopped (`Aborted`,
/// `Interrupted`).
pub fn construct_hetero_mfgs(
    full: &HeteroGraphShardManager,
    seeds: Vec<Vec<u32>>,
    layers: usize,
) -> Result<HeteroMfgs> {
    Mfgs::new(seeds, layers, |destinations| layer_graph(full, destinations))
}

/// The graph of all edges into `destinations`, and its sources' own rows.
fn layer_graph(
    full: &HeteroGraphShardManager,
    destinations: &[Vec<u32>],
) -> Result<(HeteroGraphShardManager, Vec<Vec<u32>>)> {
    let mut edges = Vec::new();
    for relation in &full.relations {
        let rows = &destinations[relation.dst_type];
        edges.push(EdgesInto::new(&relation.graph, &TakenDestinations::all(rows))?);
    }
    let sources: Vec<Vec<u32>> = (0..full.ntypes.len())
        .map(|ntype| {
            let from = full.relations.iter().zip(&edges).filter(|(r, _)| r.src_type == ntype);
            let needed = from.flat_map(|(_, edges)| edges.needed());
            let own = full.node_ids[ntype].size()[0] as usize;
            union(needed.chain(destinations[ntype].iter().copied()), own)
        })
        .collect();
    let Some(Relation { graph: any, .. }) = full.relations.first() else {
        return Err(Error::internal("a graph without edge types"));
    };
    let (mut node_ids, mut destination_rows) = (Vec::new(), Vec::new());
    for (ntype, rows) in destinations.iter().enumerate() {
        node_ids.push(pick(any, &full.node_ids[ntype], rows)?);
        let among = &sources[ntype];
        destination_rows.push((among != rows).then(|| {
            let place = |row: &u32| among.partition_point(|source| source < row) as u32;
            any.exchange
                .manager
                .track("destination-rows", rows.iter().map(place).collect::<Vec<u32>>())
        }));
    }
    let mut relations = Vec::new();
    for (relation, edges) in full.relations.iter().zip(edges) {
        let Relation { etype, src_type, dst_type, graph } = relation;
        let kind = if src_type == dst_type {
            EndKind::RelationInType
        } else {
            EndKind::RelationBetweenTypes
        };
        let (rows, among) = (&destinations[*dst_type], &sources[*src_type]);
        let graph = edges.into_graph(graph, rows, among, kind)?;
        let (src_type, dst_type) = (*src_type, *dst_type);
        relations.push(Relation { etype: etype.clone(), src_type, dst_type, graph });
    }
    let ntypes = full.ntypes.clone();
    Ok((HeteroGraph { ntypes, node_ids, destination_rows, relations }, sources))
}

impl HeteroGraphShardManager {
    /// Number of edges of all types into this rank's nodes.
    ///
    /// # Errors
    /// If the value cannot be read back (`Io`, `Corrupt`) or computed again.
    pub fn num_edges(&self) -> Result<i64> {
        self.relations.iter().map(|relation| relation.graph.num_edges()).sum()
    }
}

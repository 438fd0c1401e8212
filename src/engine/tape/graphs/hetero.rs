//! Graphs with several node and edge types.

use std::rc::Rc;

use super::edge_inputs::EdgeSource;
use super::full_partition::FullPartitionGraph;
use super::graph::Graph;
use super::graph_shard_manager::{GraphShardManager, node_ids};
use crate::engine::comm::ProcessGroup;
use crate::engine::spill::{PartitionDataManager, Pointer, PointerTensor};
use crate::engine::tape::record::Tape;
use crate::engine::tape::var::Var;
use crate::graph::{CanonicalEtype, GraphShard, PartitionBook, TypeNodes};
use crate::words::error::{Error, Result};

/// The edges of one type.
pub struct Relation<G = GraphShardManager> {
    /// Name of the edge type.
    pub etype: CanonicalEtype,
    /// Id of the source node type.
    pub src_type: usize,
    /// Id of the destination node type.
    pub dst_type: usize,
    /// The edges of this type, as a graph that any layer runs on.
    pub graph: G,
}

/// A graph with several node and edge types: one [`Graph`] per relation. Nodes are numbered within their type, from 0
/// in each partition or block.
pub struct HeteroGraph<G> {
    pub(in crate::engine::tape) ntypes: Vec<String>,
    /// Ids of the own nodes (in a block, of the destinations), by node type.
    pub(in crate::engine::tape) node_ids: Vec<PointerTensor>,
    /// Row of each destination among the sources, by node type; `None` if both are the same nodes.
    pub(in crate::engine::tape) destination_rows: Vec<Option<Pointer<Vec<u32>>>>,
    pub(in crate::engine::tape) relations: Vec<Relation<G>>,
}

/// The partitioned heterogeneous graph from one rank's view, with a [`GraphShardManager`] per relation: SAR's
/// `HeteroGraphShardManager`.
pub type HeteroGraphShardManager = HeteroGraph<GraphShardManager>;

impl HeteroGraph<GraphShardManager> {
    /// Creates the graph from the shards of each edge type, in the order of the book. For each type, pass the shards by
    /// source rank, and the rows (within the source type) that their columns stand for. One collective per edge type.
    ///
    /// # Errors
    /// If the shards of an edge type are missing.
    pub fn new(
        manager: &Rc<PartitionDataManager>,
        group: &Rc<dyn ProcessGroup>,
        book: &PartitionBook,
        shards: Vec<(Vec<GraphShard>, Vec<Vec<u32>>)>,
    ) -> Result<Self> {
        let rank = group.rank();
        if shards.len() != book.etypes().len() {
            let problem =
                format!("shards of {} of {} edge types", shards.len(), book.etypes().len());
            return Err(Error::internal(problem));
        }
        let mut before = 0;
        let ids = (0..book.ntypes().len()).map(|ntype| {
            let TypeNodes { first, own, total } = book.type_nodes(rank, ntype);
            let ids = node_ids(manager, (before + first) as i64, own as i64);
            before += total;
            ids
        });
        let ids: Vec<_> = ids.collect();
        let mut relations = Vec::new();
        let etypes = book.etypes().iter().zip(book.etype_ends());
        for ((etype, [src_type, dst_type]), (shards, sources)) in etypes.zip(shards) {
            let (src_type, dst_type) = (*src_type, *dst_type);
            let (src_ids, dst_ids) = (ids[src_type].clone(), ids[dst_type].clone());
            let shards =
                shards.into_iter().map(|shard| manager.track_shard("shard", shard)).collect();
            let graph = GraphShardManager::over(manager, group, shards, sources, src_ids, dst_ids)?;
            relations.push(Relation { etype: etype.clone(), src_type, dst_type, graph });
        }
        let ntypes = book.ntypes().to_vec();
        let destination_rows = vec![None; ntypes.len()];
        Ok(HeteroGraph { ntypes, node_ids: ids, destination_rows, relations })
    }
}

impl HeteroGraphShardManager {
    /// Sets the edge features of one relation, for this graph and graphs derived from it later. The shards must have
    /// been loaded with ids.
    ///
    /// # Errors
    /// If the relation does not exist.
    pub fn set_edge_source(&mut self, etype: usize, source: EdgeSource) -> Result<()> {
        let count = self.relations.len();
        let relation = self.relations.get_mut(etype).ok_or_else(|| {
            Error::internal(format!("there is no relation {etype}; the graph has {count}"))
        })?;
        relation.graph.set_edge_source(source);
        Ok(())
    }

    /// Reduces the rows that ranks exchange for sums along edges, like [`GraphShardManager::cover_sums`]. One
    /// collective per relation.
    ///
    /// # Errors
    /// As for the graph of a relation.
    pub fn cover_sums(&mut self) -> Result<()> {
        self.relations.iter_mut().try_for_each(|relation| relation.graph.cover_sums())
    }

    /// Creates the graph of each relation as one block; see
    /// [`get_full_partition_graph`](GraphShardManager::get_full_partition_graph). No collective.
    ///
    /// # Errors
    /// As for the graph of a relation.
    pub fn get_full_partition_graphs(&self) -> Result<HeteroGraph<FullPartitionGraph<'_>>> {
        let relations = self.relations.iter().map(|relation| {
            let graph = relation.graph.get_full_partition_graph()?;
            let Relation { etype, src_type, dst_type, .. } = relation;
            let (src_type, dst_type) = (*src_type, *dst_type);
            Ok(Relation { etype: etype.clone(), src_type, dst_type, graph })
        });
        Ok(HeteroGraph {
            ntypes: self.ntypes.clone(),
            node_ids: self.node_ids.clone(),
            destination_rows: self.destination_rows.clone(),
            relations: relations.collect::<Result<_>>()?,
        })
    }
}

impl<G: Graph> HeteroGraph<G> {
    /// Names of the node types.
    pub fn ntypes(&self) -> &[String] {
        &self.ntypes
    }

    /// Ids of this rank's nodes of a type (in a block, of its destinations), `int64`: type-wise ids plus the number of
    /// nodes of earlier types, as in `dgl.to_homogeneous`. Unlike the partitions' homogeneous ids, they do not depend
    /// on the partitions.
    pub fn node_ids(&self, ntype: usize) -> &PointerTensor {
        &self.node_ids[ntype]
    }

    /// The relations, in the order of edge types.
    pub fn relations(&self) -> &[Relation<G>] {
        &self.relations
    }

    /// The rows of `x` (one per source of the type) for the type's destinations: `x` itself if both are the same nodes.
    ///
    /// # Errors
    /// If the value cannot be read back (`Io`, `Corrupt`) or computed again.
    pub fn destinations(&self, tape: &mut Tape<'_>, ntype: usize, x: &Var) -> Result<Var> {
        match &self.destination_rows[ntype] {
            Some(rows) => tape.rows(x, rows),
            None => Ok(x.clone()),
        }
    }
}

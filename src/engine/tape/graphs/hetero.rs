//! A graph with several types of nodes and edges.

use std::rc::Rc;

use super::graph::Graph;
use super::graph_shard_manager::{GraphShardManager, node_ids};
use crate::engine::comm::ProcessGroup;
use crate::engine::spill::{PartitionDataManager, Pointer, PointerTensor};
use crate::engine::tape::record::Tape;
use crate::engine::tape::var::Var;
use crate::error::{Error, Result};
use crate::graph::{CanonicalEtype, GraphShard, PartitionBook, TypeNodes};

/// The edges of one type.
pub struct Relation<G = GraphShardManager> {
    /// Its name.
    pub etype: CanonicalEtype,
    /// The type of its sources.
    pub src_type: usize,
    /// The type of its destinations.
    pub dst_type: usize,
    /// Its edges, from nodes of the one type to nodes of the other: any layer runs on them.
    pub graph: G,
}

/// A graph with several types of nodes and edges: a [`Graph`] per relation. Nodes are counted within their type, in each
/// partition or block from 0.
pub struct HeteroGraph<G> {
    pub(in crate::engine::tape) ntypes: Vec<String>,
    /// By node type: the id of each own node, or destination.
    pub(in crate::engine::tape) node_ids: Vec<PointerTensor>,
    /// By node type: the row of each destination among the sources; `None` if the two are the same nodes.
    pub(in crate::engine::tape) destination_rows: Vec<Option<Pointer<Vec<u32>>>>,
    pub(in crate::engine::tape) relations: Vec<Relation<G>>,
}

/// The partitioned heterogeneous graph as one rank sees it, a [`GraphShardManager`] per relation: SAR's class of the same
/// name.
pub type HeteroGraphShardManager = HeteroGraph<GraphShardManager>;

impl HeteroGraph<GraphShardManager> {
    /// Makes the graph of the shards of each edge type, in the order of the book: for each the shards by source rank, and
    /// the rows (within the source type) that their columns stand for. One collective per edge type.
    ///
    /// # Errors
    /// If there are not the shards of all edge types.
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
            return Err(Error::Internal(problem));
        }
        let mut before = 0;
        let ids = (0..book.ntypes().len()).map(|ntype| {
            let TypeNodes { first, own, total } = book.type_nodes(rank, ntype);
            let ids = node_ids(manager, (before + first) as i64, own as i64);
            before += total;
            ids
        });
        let ids: Vec<_> = ids.collect();
        let known = |name: &str| {
            let unknown = || Error::Internal(format!("{name} is no node type of the graph"));
            book.ntype_id(name).ok_or_else(unknown)
        };
        let mut relations = Vec::new();
        for (etype, (shards, sources)) in book.etypes().iter().zip(shards) {
            let (src_type, dst_type) = (known(&etype.src)?, known(&etype.dst)?);
            let ends = (ids[src_type].clone(), ids[dst_type].clone());
            let shards =
                shards.into_iter().map(|shard| manager.track_shard("shard", shard)).collect();
            let graph = GraphShardManager::over(manager, group, shards, sources, ends)?;
            relations.push(Relation { etype: etype.clone(), src_type, dst_type, graph });
        }
        let ntypes = book.ntypes().to_vec();
        let destination_rows = vec![None; ntypes.len()];
        Ok(HeteroGraph { ntypes, node_ids: ids, destination_rows, relations })
    }
}

impl<G: Graph> HeteroGraph<G> {
    /// Names of the node types.
    pub fn ntypes(&self) -> &[String] {
        &self.ntypes
    }

    /// The ids of this rank's nodes of a type (of a block: of its destinations), `int64`: type-wise ids, type laid after type as
    /// `dgl.to_homogeneous` does. Unlike the partitions' homogeneous ids they do not depend on how many nodes of other types a
    /// partition has.
    pub fn node_ids(&self, ntype: usize) -> &PointerTensor {
        &self.node_ids[ntype]
    }

    /// The relations, in the order of edge types.
    pub fn relations(&self) -> &[Relation<G>] {
        &self.relations
    }

    /// The rows of `x` (one per source of the type) that belong to the type's destinations: `x` itself where the two are the
    /// same nodes.
    pub fn destinations(&self, tape: &mut Tape<'_>, ntype: usize, x: &Var) -> Result<Var> {
        match &self.destination_rows[ntype] {
            Some(rows) => tape.rows(x, rows),
            None => Ok(x.clone()),
        }
    }
}

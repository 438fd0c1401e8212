//! A graph as the user passed it.

use std::path::PathBuf;

use super::raw_edges::RawEdges;
use crate::formats::dgl::{OriginalIds, blocks};
use crate::graph::CanonicalEtype;
use crate::prepare::import::ids::NodeNames;
use crate::prepare::import::tables::{ClassNames, Table};
use crate::words::error::Result;

/// A graph between a user's files and partitions. Edges are in a temporary file; tables are read in place on demand.
#[derive(Debug)]
pub struct RawGraph {
    /// Node types, sorted by name as DGL sorts them.
    pub ntypes: Vec<NodeType>,
    /// Edge types, sorted by name.
    pub etypes: Vec<EdgeType>,
    /// Sources and destinations by edge type.
    pub edges: RawEdges,
    /// Names of the classes, if labels are names; empty otherwise.
    pub class_names: ClassNames,
    /// The means and deviations by which numbers of tables became features, as a table in CSV; empty if there are none.
    pub feature_scale: String,
    /// How tables became features, as JSON; empty if there were no tables.
    pub feature_encoding: String,
    /// Notes for the user: the use of node tables, and likely mistakes.
    pub notes: Vec<String>,
}

/// Nodes of one type.
#[derive(Debug)]
pub struct NodeType {
    /// Name of the type.
    pub name: String,
    /// Number of nodes.
    pub count: u64,
    /// Named tables with a row per node.
    pub data: Vec<(String, Table)>,
    /// Original ids of nodes from before the input numbered them, in consecutive pieces; empty if the input's numbers
    /// are the original ones.
    pub originals: Vec<OriginalIds>,
    /// Names of the nodes, if the input identifies them by strings.
    pub names: Option<NodeNames>,
    /// The file with the names of the nodes by original id, if the input is a partition directory that has one.
    pub names_file: Option<PathBuf>,
}

/// Edges of one type.
#[derive(Debug)]
pub struct EdgeType {
    /// Name of the type.
    pub name: CanonicalEtype,
    /// The node types of sources and destinations.
    pub ends: [usize; 2],
    /// Named tables with a row per edge.
    pub data: Vec<(String, Table)>,
    /// Whether the sources are values of a column, whose rows are learned. These relations have no reverses.
    pub embeds: bool,
    /// The file that already contains each edge in both directions, if there is one.
    pub both_directions: Option<PathBuf>,
}

impl NodeType {
    /// Calls `take` with the original ids of all nodes, in order.
    ///
    /// # Errors
    /// If the ids cannot be read, or `take` fails.
    pub fn original_ids(&self, mut take: impl FnMut(&[u64]) -> Result<()>) -> Result<()> {
        let mut block = Vec::new();
        let pieces: Vec<Option<&OriginalIds>> = match &self.originals[..] {
            [] => vec![None],
            pieces => pieces.iter().map(Some).collect(),
        };
        for piece in pieces {
            let rows = piece.map_or(self.count, OriginalIds::num_rows);
            for rows in blocks::ranges(rows) {
                block.clear();
                block.extend(rows.clone());
                if let Some(ids) = piece {
                    ids.read(rows, &mut block)?;
                }
                take(&block)?;
            }
        }
        Ok(())
    }
}

impl RawGraph {
    /// Number of nodes over all types.
    pub fn num_nodes(&self) -> u64 {
        self.ntypes.iter().map(|ntype| ntype.count).sum()
    }

    /// Size of all tables and of the original ids of nodes, in bytes.
    pub fn table_bytes(&self) -> u64 {
        let nodes = self.ntypes.iter().flat_map(|ntype| &ntype.data);
        let edges = self.etypes.iter().flat_map(|etype| &etype.data);
        nodes.chain(edges).map(|(_, table)| table.bytes()).sum::<u64>() + 8 * self.num_nodes()
    }

    /// Homogeneous id of the first node of each type, and the number of nodes at the end: DGL's `to_homogeneous`.
    pub fn first_nodes(&self) -> Vec<u64> {
        let mut next = 0;
        let mut firsts = vec![0];
        for ntype in &self.ntypes {
            next += ntype.count;
            firsts.push(next);
        }
        firsts
    }
}

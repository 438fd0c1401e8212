//! The structure of one partition in local ids, independent of the file format.

use super::fused_csc::{Arrays, FusedCsc};
use super::graph_file::GraphFile;
use super::graph_record::Frame;
use super::relation::DglRelation;
use crate::formats::dgl::array::ArrayRef;
use crate::graph::PartitionBook;
use crate::words::error::{Error, Result};
use std::path::{Path, PathBuf};

/// Encoding of the ends of edges. An *entry* is an index into these arrays.
#[derive(Clone, Debug)]
pub(crate) enum Entries {
    /// Source and destination of each entry.
    Pairs { src: ArrayRef, dst: ArrayRef },
    /// Entries sorted by destination.
    ByDestination { indptr: ArrayRef, src: ArrayRef },
    /// Entries sorted by source.
    BySource { indptr: ArrayRef, dst: ArrayRef },
}

/// Columns with a row per local node.
#[derive(Clone, Debug)]
pub(crate) struct NodeColumns {
    /// Global id of each node.
    pub(crate) id: ArrayRef,
    /// 1 for nodes that the partition owns.
    pub(crate) inner: Option<ArrayRef>,
    pub(crate) ty: Option<ArrayRef>,
    /// Owning partition of each node.
    pub(crate) part: Option<ArrayRef>,
    /// Original id of each node.
    pub(crate) orig: Option<ArrayRef>,
}

/// Columns with a row per local edge.
#[derive(Clone, Debug)]
pub(crate) struct EdgeColumns {
    /// Global id of each edge; GraphBolt's files may lack it.
    pub(crate) id: Option<ArrayRef>,
    /// 1 for edges that the partition owns.
    pub(crate) inner: Option<ArrayRef>,
    pub(crate) ty: Option<ArrayRef>,
    /// Original id of each edge.
    pub(crate) orig: Option<ArrayRef>,
}

/// Structure and columns of one partition. Only headers have been read.
#[derive(Clone, Debug)]
pub(crate) struct LocalGraph {
    pub(crate) path: PathBuf,
    pub(crate) num_nodes: u64,
    pub(crate) num_edges: u64,
    pub(crate) entries: Entries,
    /// Local edge of each entry; without it entry `i` is local edge `i`.
    pub(crate) edge_of_entry: Option<ArrayRef>,
    /// Whether this is GraphBolt's file, in which local edges are sorted by destination; in other files they are in the
    /// order of feature rows.
    pub(crate) is_graphbolt: bool,
    pub(crate) nodes: NodeColumns,
    pub(crate) edges: EdgeColumns,
}

impl LocalGraph {
    /// Reads the headers of a `graph.dgl`.
    pub(crate) fn from_graph_file(path: &Path) -> Result<Self> {
        let file = GraphFile::open(path)?;
        let [graph] = file.graphs() else {
            let count = file.graphs().len();
            return Err(Error::input(
                path,
                "",
                format!("holds {count} graphs, but a partition has one"),
            ));
        };
        let ([relation], [node_frame], [edge_frame]) =
            (&graph.relations[..], &graph.node_frames[..], &graph.edge_frames[..])
        else {
            let problem = "holds a graph of several types, but a partition has a homogeneous one";
            return Err(Error::input(path, "", problem));
        };
        let (entries, edge_of_entry) = entries_of(relation)
            .ok_or_else(|| Error::input(path, "", "does not hold the ends of edges"))?;
        let required = |frame: &Frame, field: &str| {
            column(frame, "_ID")?.ok_or_else(|| {
                Error::input(path, field, "is missing")
                    .with_hint("this is a graph, but not a partition that DGL wrote")
            })
        };
        Ok(LocalGraph {
            path: path.to_owned(),
            num_nodes: relation.num_src,
            num_edges: relation.num_edges,
            entries,
            edge_of_entry,
            is_graphbolt: false,
            nodes: NodeColumns {
                id: required(node_frame, "ndata _ID")?,
                inner: column(node_frame, "inner_node")?,
                ty: column(node_frame, "_TYPE")?,
                part: column(node_frame, "part_id")?,
                orig: column(node_frame, "orig_id")?,
            },
            edges: EdgeColumns {
                id: Some(required(edge_frame, "edata _ID")?),
                inner: column(edge_frame, "inner_edge")?,
                ty: column(edge_frame, "_TYPE")?,
                orig: column(edge_frame, "orig_id")?,
            },
        })
    }

    /// Reads the headers of a `fused_csc_sampling_graph.pt`.
    pub(crate) fn from_graphbolt(path: &Path, book: &PartitionBook) -> Result<Self> {
        let graph = FusedCsc::open(path)?;
        check_type_ids(&graph, book)?;
        let attribute =
            |map: &Arrays, name: &str| map.get(name).map(ArrayRef::integers).transpose();
        let Some(id) = attribute(&graph.node_attributes, "_ID")? else {
            return Err(Error::input(path, "node_attributes _ID", "is missing").with_hint(
                "DGL 2.0 wrote such files; convert the partition again with DGL 2.1 or later, or restore graph.dgl",
            ));
        };
        Ok(LocalGraph {
            path: path.to_owned(),
            num_nodes: graph.indptr.num_rows() - 1,
            num_edges: graph.indices.num_rows(),
            nodes: NodeColumns {
                id,
                inner: attribute(&graph.node_attributes, "inner_node")?,
                ty: None,
                part: None,
                orig: None,
            },
            edges: EdgeColumns {
                id: attribute(&graph.edge_attributes, "_ID")?,
                inner: attribute(&graph.edge_attributes, "inner_edge")?,
                ty: graph.type_per_edge,
                orig: None,
            },
            entries: Entries::ByDestination { indptr: graph.indptr, src: graph.indices },
            edge_of_entry: None,
            is_graphbolt: true,
        })
    }
}

/// The encoding that is cheapest to read in edge order: COO in that order needs no random access, CSC almost none.
fn entries_of(relation: &DglRelation) -> Option<(Entries, Option<ArrayRef>)> {
    let coo = relation.coo.as_ref();
    if let (Some(csc), None) = (&relation.csc, coo.filter(|coo| coo.edge_ids.is_none())) {
        let (indptr, src) = (csc.indptr.clone(), csc.indices.clone());
        return Some((Entries::ByDestination { indptr, src }, csc.edge_ids.clone()));
    }
    if let Some(coo) = coo {
        let (src, dst) = (coo.row.clone(), coo.col.clone());
        return Some((Entries::Pairs { src, dst }, coo.edge_ids.clone()));
    }
    let csr = relation.csr.as_ref()?;
    let (indptr, dst) = (csr.indptr.clone(), csr.indices.clone());
    Some((Entries::BySource { indptr, dst }, csr.edge_ids.clone()))
}

fn column(frame: &Frame, name: &str) -> Result<Option<ArrayRef>> {
    frame.get(name).map(ArrayRef::integers).transpose()
}

/// Checks that types have the same ids in this file and the JSON file.
fn check_type_ids(graph: &FusedCsc, book: &PartitionBook) -> Result<()> {
    let ntypes = graph.node_type_to_id.iter().map(|(name, &id)| {
        let agrees = book.ntype_id(name) == Some(id as usize);
        ("node_type_to_id", name, agrees)
    });
    let etypes = graph.edge_type_to_id.iter().map(|(name, &id)| {
        let agrees = book.etypes().get(id as usize).is_some_and(|e| e.to_string() == *name);
        ("edge_type_to_id", name, agrees)
    });
    for (field, name, agrees) in ntypes.chain(etypes) {
        if !agrees {
            let problem = format!("{name:?} has another id than in the JSON file");
            return Err(Error::input(graph.path(), field, problem));
        }
    }
    Ok(())
}

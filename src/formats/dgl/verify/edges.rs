//! Columns and ends of edges, including halo edges.

use crate::formats::dgl::array::ArrayRef;
use crate::formats::dgl::blocks;
use crate::formats::dgl::edge_reader::InnerEdge;
use crate::formats::dgl::edges::edge_ids::EdgeIds;
use crate::formats::dgl::structure::entry_stream::EntryStream;
use crate::formats::dgl::topology::Topology;
use crate::graph::Bitmap;
use crate::words::error::{Error, Result};

/// Number of edges read at a time.
const BLOCK: usize = 16 << 10;

/// Checks that masks are 0 or 1, that inner edges have each of the partition's ids once and halo edges have other ids,
/// and that types match ids. Returns the set of inner edges by local edge; `None` if the file neither marks nor numbers
/// edges.
pub(super) fn check_columns(topology: &Topology) -> Result<Option<Bitmap>> {
    let (config, graph) = (topology.config(), topology.graph());
    let (book, columns) = (config.book(), &graph.edges);
    let ids = EdgeIds::load(config, topology.part(), graph)?;
    let (own, mut found) = (ids.own(), 0);
    let mut seen = Bitmap::new(own.end - own.start);
    let mut inner_edges = Bitmap::new(graph.num_edges);
    let (mut stored, mut mask, mut types) = (Vec::new(), Vec::new(), Vec::new());
    for rows in blocks::ranges(graph.num_edges) {
        blocks::read_optional(columns.id.as_ref(), rows.clone(), &mut stored)?;
        blocks::read_optional(columns.inner.as_ref(), rows.clone(), &mut mask)?;
        blocks::read_optional(columns.ty.as_ref(), rows.clone(), &mut types)?;
        for (at, row) in rows.enumerate() {
            let id = stored.get(at).copied();
            let global = id.and_then(|id| ids.global(id));
            let inner = match &columns.inner {
                Some(column) => blocks::truth(column, row, mask[at])?,
                None => global.is_some(),
            };
            if let (Some(id), Some(column)) = (id, &columns.id) {
                let sound = match (inner, global) {
                    (true, Some(global)) => seen.insert(global - own.start),
                    (false, None) => id < book.num_edges(),
                    _ => false,
                };
                if !sound {
                    return Err(wrong_id(column, row, id, inner));
                }
            }
            if let (Some(&ty), Some(column)) = (types.get(at), &columns.ty) {
                let due = id.and_then(|id| book.edge_type(id)).map_or(ty, |due| due as u64);
                if due != ty || ty >= book.etypes().len() as u64 {
                    let problem =
                        format!("row {row} is edge type {ty}, which is not the type of its id");
                    return Err(column.fail(problem));
                }
            }
            if inner {
                inner_edges.insert(row);
                found += 1;
            }
        }
    }
    if columns.id.is_none() && columns.inner.is_none() {
        return Ok(None);
    }
    if found != own.end - own.start {
        let problem =
            format!("marks {found} edges, but the partition owns {}", own.end - own.start);
        return Err(Error::input(&graph.path, "inner_edge", problem));
    }
    Ok(Some(inner_edges))
}

fn wrong_id(column: &ArrayRef, row: u64, id: u64, inner: bool) -> Error {
    let problem = if inner {
        "which is outside this partition's range or occurs twice"
    } else {
        "which belongs to this partition though the edge is marked as foreign, or is too large"
    };
    column.fail(format!("row {row} is {id}, {problem}"))
}

/// Checks that every end is a local node, that entries represent each local edge once, and that an edge is inner if and
/// only if its destination is.
pub(super) fn check_ends(topology: &Topology, inner_edges: Option<&Bitmap>) -> Result<()> {
    let graph = topology.graph();
    let nodes = topology.nodes()?;
    let mut entries = EntryStream::new(graph);
    let mut met = graph.edge_of_entry.as_ref().map(|_| Bitmap::new(graph.num_edges));
    let (mut src, mut dst, mut listed) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let range = entries.next_block(BLOCK, &mut src, &mut dst)?;
        if range.is_empty() {
            return Ok(());
        }
        blocks::read_optional(graph.edge_of_entry.as_ref(), range.clone(), &mut listed)?;
        for (at, entry) in range.enumerate() {
            let edge = listed.get(at).copied().unwrap_or(entry);
            if met.as_mut().is_some_and(|met| !met.insert(edge)) {
                let problem =
                    format!("entry {entry} is edge {edge}, which is a repetition or out of range");
                return Err(Error::input(&graph.path, "edge ids", problem));
            }
            let (Some(_), Some(end)) = (nodes.global(src[at]), nodes.global(dst[at])) else {
                let problem = format!("edge {edge} ends at a node that does not exist");
                return Err(Error::input(&graph.path, "edges", problem));
            };
            let ends_inside = nodes.inner_index(end).is_some();
            if inner_edges.is_some_and(|inner| inner.contains(edge) != ends_inside) {
                let problem = format!("edge {edge} and its destination disagree on being inner");
                return Err(Error::input(&graph.path, "inner_edge", problem));
            }
        }
    }
}

/// Checks that the ends of every inner edge have the node types of its edge type's canonical name.
pub(super) fn check_types(topology: &Topology) -> Result<()> {
    let book = topology.config().book();
    let (mut edges, mut block) = (topology.edges(BLOCK)?, Vec::new());
    while edges.next_block(&mut block)? {
        for &InnerEdge { src, dst, id, etype, .. } in &block {
            let ends = [src, dst].map(|node| book.node_type(node));
            if ends != book.etype_ends()[etype].map(Some) {
                let name = &book.etypes()[etype];
                let problem = format!("edge {id} does not join the node types of {name}");
                return Err(Error::input(&topology.graph().path, "edges", problem));
            }
        }
    }
    Ok(())
}

//! Version 1 of DGL's graph files: homogeneous graphs of DGL 0.3 and 0.4.

use super::graph_record::{CONTENT, Content, GraphRecord, read_frame, read_labels};
use super::relation::DglRelation;
use super::sparse::CsrArrays;
use crate::formats::dgl::arrays::ndarray;
use crate::formats::dgl::header::HeaderReader;
use crate::graph::CanonicalEtype;
use crate::io::Dtype;
use crate::words::error::Result;

/// Reads the content that follows the version number.
pub(crate) fn read(reader: &mut HeaderReader<'_>) -> Result<Content> {
    let kind = reader.u64()?;
    if kind != 1 {
        return Err(reader.fail(format!("graph kind {kind} is not supported in version 1, only 1")));
    }
    reader.seek(CONTENT)?;
    let count = reader.count(8)?;
    let offsets = read_vector(reader, count)?;
    let nodes = read_vector(reader, count)?;
    let edges = read_vector(reader, count)?;
    let labels = read_labels(reader)?;
    let mut graphs = Vec::with_capacity(count);
    for (index, ((&offset, &nodes), &edges)) in offsets.iter().zip(&nodes).zip(&edges).enumerate() {
        reader.enter(format!("graph {index}"));
        if offset != reader.pos() {
            return Err(reader.fail(format!("is at {}, not at {offset}", reader.pos())));
        }
        graphs.push(read_graph(reader, &format!("graph {index}"), nodes, edges)?);
    }
    reader.enter("");
    if reader.remaining() > 0 {
        return Err(reader.fail(format!("{} bytes follow the last graph", reader.remaining())));
    }
    Ok((labels, graphs))
}

fn read_vector(reader: &mut HeaderReader<'_>, due: usize) -> Result<Vec<u64>> {
    let count = reader.count(8)?;
    if count != due {
        return Err(reader.fail(format!("a table has {count} entries for {due} graphs")));
    }
    (0..count).map(|_| reader.size()).collect()
}

/// Reads the in-edges by destination, then the columns of nodes and of edges.
fn read_graph(
    reader: &mut HeaderReader<'_>,
    graph: &str,
    num_nodes: u64,
    num_edges: u64,
) -> Result<GraphRecord> {
    let mut arrays = Vec::with_capacity(3);
    let parts = [
        ("indptr", num_nodes.checked_add(1)),
        ("indices", Some(num_edges)),
        ("edge ids", Some(num_edges)),
    ];
    for (part, rows) in parts {
        reader.enter(format!("{graph} {part}"));
        let array = ndarray::read(reader)?;
        if array.shape().len() != 1
            || array.shape().first().copied() != rows
            || !matches!(array.dtype(), Dtype::I32 | Dtype::I64)
        {
            return Err(array.fail(format!("has type {} {:?}", array.dtype(), array.shape())));
        }
        arrays.push(array);
    }
    let node_frame = read_frame(reader, &format!("{graph} ndata "), num_nodes)?;
    let edge_frame = read_frame(reader, &format!("{graph} edata "), num_edges)?;
    let edge_ids = arrays.pop().filter(|ids| ids.num_rows() > 0);
    let csc = arrays.pop().zip(arrays.pop()).map(|(indices, indptr)| CsrArrays {
        num_rows: num_nodes,
        num_cols: num_nodes,
        indptr,
        indices,
        edge_ids,
    });
    let relation = DglRelation {
        num_src: num_nodes,
        num_dst: num_nodes,
        num_edges,
        coo: None,
        csr: None,
        csc,
    };
    Ok(GraphRecord {
        ntypes: vec!["_N".to_owned()],
        etypes: vec![CanonicalEtype::new("_N", "_E", "_N")],
        num_nodes: vec![num_nodes],
        relations: vec![relation],
        node_frames: vec![node_frame],
        edge_frames: vec![edge_frame],
    })
}

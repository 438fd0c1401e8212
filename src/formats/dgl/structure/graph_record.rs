//! DGL's record of one graph: types, relations, columns of nodes and edges.

use super::relation;
use super::relation::DglRelation;
use super::sparse;
use crate::formats::dgl::array::ArrayRef;
use crate::formats::dgl::arrays::ndarray;
use crate::formats::dgl::header::HeaderReader;
use crate::formats::dgl::magic;
use crate::formats::dgl::tensor_file::{find, read_pairs};
use crate::graph::CanonicalEtype;
use crate::words::error::Result;

/// Offset at which the content of a file starts.
pub(crate) const CONTENT: u64 = 4096;

/// Columns of the nodes or edges of one type, in file order.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    pub(crate) columns: Vec<(String, ArrayRef)>,
}

impl Frame {
    /// Names and arrays in file order.
    pub fn columns(&self) -> &[(String, ArrayRef)] {
        &self.columns
    }

    /// The column with this name.
    pub fn get(&self, name: &str) -> Option<&ArrayRef> {
        find(&self.columns, name)
    }
}

/// One graph of a graph file. Vectors are indexed by node type or by edge type.
#[derive(Clone, Debug)]
pub struct GraphRecord {
    /// Node type names.
    pub ntypes: Vec<String>,
    /// Edge type names; relation names may repeat.
    pub etypes: Vec<CanonicalEtype>,
    /// Number of nodes of each node type.
    pub num_nodes: Vec<u64>,
    /// Structure of each edge type.
    pub relations: Vec<DglRelation>,
    /// Columns of each node type.
    pub node_frames: Vec<Frame>,
    /// Columns of each edge type.
    pub edge_frames: Vec<Frame>,
}

/// Labels and graphs of a file.
pub(crate) type Content = (Vec<(String, ArrayRef)>, Vec<GraphRecord>);

/// Reads labels: a count and that many pairs.
pub(crate) fn read_labels(reader: &mut HeaderReader<'_>) -> Result<Vec<(String, ArrayRef)>> {
    reader.enter("labels");
    let count = reader.count(8 + ndarray::MIN_BYTES)?;
    read_pairs(reader, count, "label ")
}

/// Reads a graph; names of fields begin with `graph`.
pub(crate) fn read(reader: &mut HeaderReader<'_>, graph: &str) -> Result<GraphRecord> {
    reader.enter(graph);
    magic::expect(reader, magic::HETERO_GRAPH, "graph")?;
    let ends = read_metagraph(reader, graph)?;
    reader.enter(graph);
    let count = reader.count(relation::MIN_BYTES)?;
    if count != ends.len() {
        return Err(reader.fail(format!("{count} relations, but {} in the metagraph", ends.len())));
    }
    let mut relations = Vec::with_capacity(count);
    for index in 0..count {
        reader.enter(format!("{graph} relation {index}"));
        relations.push(relation::read(reader)?);
    }
    reader.enter(graph);
    let num_types = reader.count(8)?;
    let mut num_nodes = Vec::with_capacity(num_types);
    for _ in 0..num_types {
        num_nodes.push(reader.size()?);
    }
    for (index, (relation, &(src, dst))) in relations.iter().zip(&ends).enumerate() {
        let sizes = (num_nodes.get(src).copied(), num_nodes.get(dst).copied());
        if sizes != (Some(relation.num_src), Some(relation.num_dst)) {
            return Err(reader.fail(format!("relation {index} differs from the node counts")));
        }
    }
    let num_edges: Vec<u64> = relations.iter().map(|r| r.num_edges).collect();
    let node_frames = read_frames(reader, graph, "ndata", &num_nodes)?;
    let edge_frames = read_frames(reader, graph, "edata", &num_edges)?;
    let ntypes = read_names(reader, graph, num_types)?;
    let names = read_names(reader, graph, count)?;
    let etypes = names.iter().zip(&ends);
    let etypes = etypes.map(|(rel, &(s, d))| CanonicalEtype::new(&ntypes[s], rel, &ntypes[d]));
    let etypes = etypes.collect();
    Ok(GraphRecord { ntypes, etypes, num_nodes, relations, node_frames, edge_frames })
}

/// The node types at the ends of each edge type. The caller must check that they exist.
fn read_metagraph(reader: &mut HeaderReader<'_>, graph: &str) -> Result<Vec<(usize, usize)>> {
    reader.enter(format!("{graph} metagraph"));
    magic::expect(reader, magic::IMMUTABLE_GRAPH, "metagraph")?;
    let csr = sparse::read_csr(reader)?;
    let (rows, count) = (csr.num_rows, csr.indices.num_rows());
    // Both counts are followed by records of known size, so they are checked before memory is allocated.
    if rows > reader.remaining() / 8 || count > reader.remaining() / relation::MIN_BYTES {
        return Err(reader.fail(format!("claims {rows} node types and {count} edge types")));
    }
    let mut starts = vec![0; csr.indptr.num_rows() as usize];
    csr.indptr.read_u64(0..rows + 1, &mut starts)?;
    let mut dst = vec![0; count as usize];
    csr.indices.read_u64(0..count, &mut dst)?;
    let mut etype: Vec<u64> = (0..count).collect();
    if let Some(ids) = &csr.edge_ids {
        ids.read_u64(0..count, &mut etype)?;
    }
    let unordered = starts.windows(2).any(|pair| pair[0] > pair[1]);
    if unordered || starts.first() != Some(&0) || starts.last() != Some(&count) {
        return Err(csr.indptr.fail("row starts do not ascend from 0 to the number of entries"));
    }
    let mut ends = vec![None; count as usize];
    for (src, pair) in starts.windows(2).enumerate() {
        for entry in pair[0] as usize..pair[1] as usize {
            let slot = ends.get_mut(etype[entry] as usize);
            match slot {
                Some(slot) if slot.is_none() => *slot = Some((src, dst[entry] as usize)),
                _ => return Err(csr.indptr.fail("edge type ids are not 0, 1, ... once each")),
            }
        }
    }
    Ok(ends.into_iter().flatten().collect())
}

fn read_frames(
    reader: &mut HeaderReader<'_>,
    graph: &str,
    side: &str,
    rows: &[u64],
) -> Result<Vec<Frame>> {
    reader.enter(format!("{graph} {side}"));
    let count = reader.count(8)?;
    if count != rows.len() {
        return Err(reader.fail(format!("{count} frames for {} types", rows.len())));
    }
    let mut frames = Vec::with_capacity(count);
    for (index, &rows) in rows.iter().enumerate() {
        let prefix = if count == 1 { format!("{side} ") } else { format!("{side}[{index}] ") };
        frames.push(read_frame(reader, &format!("{graph} {prefix}"), rows)?);
    }
    Ok(frames)
}

/// Reads columns with `rows` rows each; names of fields begin with `prefix`.
pub(crate) fn read_frame(reader: &mut HeaderReader<'_>, prefix: &str, rows: u64) -> Result<Frame> {
    reader.enter(prefix);
    let count = reader.count(8 + ndarray::MIN_BYTES)?;
    let columns = read_pairs(reader, count, prefix)?;
    for (_, column) in &columns {
        if column.shape().first() != Some(&rows) {
            let problem = format!("has shape {:?}, but must have {rows} rows", column.shape());
            return Err(column.fail(problem));
        }
    }
    Ok(Frame { columns })
}

fn read_names(reader: &mut HeaderReader<'_>, graph: &str, due: usize) -> Result<Vec<String>> {
    reader.enter(format!("{graph} type names"));
    let count = reader.count(8)?;
    if count != due {
        return Err(reader.fail(format!("{count} type names for {due} types")));
    }
    (0..count).map(|_| reader.string()).collect()
}

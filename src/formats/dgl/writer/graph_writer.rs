//! Writes the structure of a partition: `graph.dgl`.

use super::array_writer::ArrayWriter;
use super::output_file::OutputFile;
use crate::formats::dgl::graph_record::CONTENT;
use crate::formats::dgl::magic;
use crate::graph::PartitionBook;
use crate::io::Dtype;
use crate::words::error::{Error, Result};
use std::path::Path;
use std::sync::Arc;

/// A `graph.dgl` that is being written: COO, local edge `i` at entry `i`.
///
/// Inner nodes and inner edges come first, by ascending id, so their ids follow from the partition book. If it is
/// dropped before [`finish`](Self::finish), the file is removed.
#[derive(Debug)]
pub struct GraphWriter {
    file: OutputFile,
    book: Arc<PartitionBook>,
    part: usize,
    num_nodes: u64,
    num_edges: u64,
    src: ArrayWriter,
    dst: ArrayWriter,
    nodes: Columns,
    edges: Columns,
}

/// Columns of nodes or edges, and the number of rows written so far.
#[derive(Debug)]
struct Columns {
    rows: u64,
    ty: Option<ArrayWriter>,
    part: Option<ArrayWriter>,
    inner: ArrayWriter,
    id: ArrayWriter,
}

impl GraphWriter {
    /// Starts the file for partition `part`, with all its inner nodes. Only if the file is `durable` does `finish` wait
    /// for the disk.
    pub(super) fn create(
        path: &Path,
        book: &Arc<PartitionBook>,
        part: usize,
        num_halo_nodes: u64,
        num_halo_edges: u64,
        durable: bool,
    ) -> Result<Self> {
        let (nodes, edges) = (book.node_range(part), book.edge_range(part));
        let num_nodes = (nodes.end - nodes.start).checked_add(num_halo_nodes);
        let num_edges = (edges.end - edges.start).checked_add(num_halo_edges);
        let (Some(num_nodes), Some(num_edges)) = (num_nodes, num_edges) else {
            return Err(Error::internal("a partition has too many nodes or edges"));
        };
        let mut file = OutputFile::create(path)?.durable(durable);
        let (src, dst) = put_structure(&mut file, num_nodes, num_edges)?;
        file.put_u64s(&[1, num_nodes]);
        let alone = book.num_parts() == 1;
        // DGL's order of columns is that of a hash map, which depends on the set of columns.
        let typed = book.is_heterogeneous() || alone;
        let part_column = !alone;
        let (node_names, edge_names): (&[&str], &[&str]) = match (typed, part_column) {
            (true, true) => {
                (&["_TYPE", "part_id", "inner_node", "_ID"], &["_TYPE", "inner_edge", "_ID"])
            }
            (true, false) => (&["inner_node", "_TYPE", "_ID"], &["inner_edge", "_TYPE", "_ID"]),
            (false, _) => (&["part_id", "inner_node", "_ID"], &["inner_edge", "_ID"]),
        };
        let node_columns = Columns::put(&mut file, num_nodes, node_names)?;
        let edge_columns = Columns::put(&mut file, num_edges, edge_names)?;
        put_end(&mut file);
        let mut writer = GraphWriter {
            file,
            book: Arc::clone(book),
            part,
            num_nodes,
            num_edges,
            src,
            dst,
            nodes: node_columns,
            edges: edge_columns,
        };
        for id in nodes {
            writer.nodes.push(id, true, part, writer.book.node_type(id))?;
        }
        Ok(writer)
    }

    /// Appends halo nodes by global id. Their local ids follow those of the inner nodes.
    ///
    /// # Errors
    /// If a node belongs to this partition or to none, there are more nodes than announced, or the file cannot be written.
    pub fn append_halo_nodes(&mut self, ids: &[u64]) -> Result<()> {
        for &id in ids {
            let owner = self.book.part_of_node(id).filter(|&owner| owner != self.part);
            let owner = owner.ok_or_else(|| self.misused(&format!("halo node {id}")))?;
            self.nodes.push(id, false, owner, self.book.node_type(id))?;
        }
        Ok(())
    }

    /// Appends inner edges, in ascending order of their ids: local ids of their sources and destinations.
    ///
    /// # Errors
    /// If an end is not a local node, a destination is not inner, there are more edges than the partition owns, or the file
    /// cannot be written.
    pub fn append_inner_edges(&mut self, src: &[u64], dst: &[u64]) -> Result<()> {
        let (own, inner) = (self.book.edge_range(self.part), self.num_inner_nodes());
        let first = own.start + self.edges.rows;
        if first + src.len() as u64 > own.end {
            return Err(self.misused("more inner edges than the partition owns"));
        }
        self.append_ends(src, dst, |end| end < inner)?;
        for id in first..first + src.len() as u64 {
            self.edges.push(id, true, self.part, self.book.edge_type(id))?;
        }
        Ok(())
    }

    /// Appends halo edges, after all inner ones: local ids of their sources and destinations, and global ids.
    ///
    /// # Errors
    /// If inner edges are missing, an end is not a local node, a destination is inner, an edge belongs to this partition or to
    /// none, or the file cannot be written.
    pub fn append_halo_edges(&mut self, src: &[u64], dst: &[u64], ids: &[u64]) -> Result<()> {
        let (own, inner) = (self.book.edge_range(self.part), self.num_inner_nodes());
        if self.edges.rows < own.end - own.start || ids.len() != src.len() {
            return Err(self.misused("halo edges before all inner edges, or without ids"));
        }
        let foreign = |id: &u64| *id < self.book.num_edges() && !own.contains(id);
        if !ids.iter().all(foreign) {
            return Err(self.misused("a halo edge that is this partition's or none"));
        }
        self.append_ends(src, dst, |end| end >= inner)?;
        for &id in ids {
            self.edges.push(id, false, self.part, self.book.edge_type(id))?;
        }
        Ok(())
    }

    /// Completes the file.
    ///
    /// # Errors
    /// If nodes or edges are missing, or the file cannot be written.
    pub fn finish(self) -> Result<()> {
        self.src.finish()?;
        self.dst.finish()?;
        self.nodes.finish()?;
        self.edges.finish()?;
        self.file.finish()
    }

    fn num_inner_nodes(&self) -> u64 {
        let own = self.book.node_range(self.part);
        own.end - own.start
    }

    fn append_ends(&mut self, src: &[u64], dst: &[u64], fits: impl Fn(u64) -> bool) -> Result<()> {
        let known = |end: u64| end < self.num_nodes;
        let sound =
            src.iter().all(|&end| known(end)) && dst.iter().all(|&end| known(end) && fits(end));
        if src.len() != dst.len() || !sound {
            return Err(self.misused("an edge with a wrong end"));
        }
        self.src.append_ids(src.iter().copied())?;
        self.dst.append_ids(dst.iter().copied())
    }

    fn misused(&self, problem: &str) -> Error {
        let sizes = format!("{} nodes, {} edges", self.num_nodes, self.num_edges);
        Error::internal(format!("writing partition {} ({sizes}): {problem}", self.part))
    }
}

impl Columns {
    fn put(file: &mut OutputFile, rows: u64, names: &[&str]) -> Result<Self> {
        file.put_u64s(&[1, names.len() as u64]);
        let (mut ty, mut part, mut inner, mut id) = (None, None, None, None);
        for &name in names {
            file.put_text(name);
            let (slot, dtype) = match name {
                "_TYPE" => (&mut ty, Dtype::I32),
                "part_id" => (&mut part, Dtype::I64),
                "_ID" => (&mut id, Dtype::I64),
                _ => (&mut inner, Dtype::U8),
            };
            *slot = Some(file.array(name, dtype, &[rows])?);
        }
        let (Some(inner), Some(id)) = (inner, id) else {
            return Err(Error::internal("a partition without ids"));
        };
        Ok(Columns { rows: 0, ty, part, inner, id })
    }

    fn push(&mut self, id: u64, inner: bool, owner: usize, ty: Option<usize>) -> Result<()> {
        self.rows += 1;
        self.id.append_ids([id])?;
        self.inner.append_bytes(&[u8::from(inner)])?;
        if let Some(part) = &mut self.part {
            part.append_ids([owner as u64])?;
        }
        if let Some(column) = &mut self.ty {
            column.append_bytes(&(ty.unwrap_or(0) as i32).to_le_bytes())?;
        }
        Ok(())
    }

    fn finish(self) -> Result<()> {
        let columns = [self.ty, self.part, Some(self.inner), Some(self.id)];
        columns.into_iter().flatten().try_for_each(ArrayWriter::finish)
    }
}

/// Writes everything up to the ends of edges; returns their arrays.
fn put_structure(
    file: &mut OutputFile,
    num_nodes: u64,
    num_edges: u64,
) -> Result<(ArrayWriter, ArrayWriter)> {
    const MASK: u64 = 1 << 32;
    const COO: u64 = MASK | 1;
    const ANY: u64 = MASK | 7;
    file.put_u64s(&[magic::GRAPH_FILE, 2, 2, 1]);
    file.skip_to(CONTENT)?;
    let first = CONTENT + 16;
    file.put_u64s(&[first, 0, magic::HETERO_GRAPH]);
    put_metagraph(file)?;
    file.put_u64s(&[1, magic::UNIT_GRAPH, COO, ANY]);
    put_metagraph(file)?;
    file.put_u64s(&[magic::COO_MATRIX, num_nodes, num_nodes]);
    let src = file.array("row", Dtype::I64, &[num_edges])?;
    let dst = file.array("col", Dtype::I64, &[num_edges])?;
    file.array("edge ids", Dtype::I64, &[0])?.finish()?;
    file.put(&[0, 0]);
    Ok((src, dst))
}

/// Writes a metagraph of one node type, and one edge type from it to itself.
fn put_metagraph(file: &mut OutputFile) -> Result<()> {
    file.put_u64s(&[magic::IMMUTABLE_GRAPH, magic::CSR_MATRIX, 1, 1]);
    for values in [&[0, 1][..], &[0], &[0]] {
        let mut array = file.array("metagraph", Dtype::I64, &[values.len() as u64])?;
        array.append_ids(values.iter().copied())?;
        array.finish()?;
    }
    file.put(&[0]);
    Ok(())
}

/// Writes type names and the table of graph offsets.
fn put_end(file: &mut OutputFile) {
    for name in ["_N", "_E"] {
        file.put_u64s(&[1]);
        file.put_text(name);
    }
    file.put_u64s(&[16, 1, CONTENT + 16, 16]);
}

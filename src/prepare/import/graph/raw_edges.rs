//! Edges of a graph as the user passed them.

use std::ops::Range;
use std::path::Path;

use crate::io::{UnnamedFile, UnnamedWriter};
use crate::words::error::Result;

/// Size of an id in bytes; see [`MAX_IDS`](crate::graph::MAX_IDS).
const ID: usize = 5;

/// Size of both ends of an edge.
pub(crate) const ENDS: usize = 2 * ID;

/// Number of edges read at a time.
const BLOCK: u64 = 1 << 15;

/// Sources and destinations of all edges, type by type, in an unnamed file.
#[derive(Debug)]
pub struct RawEdges {
    file: UnnamedFile,
    types: Vec<TypeEdges>,
}

/// The place of the edges of a type in the file.
#[derive(Clone, Copy, Debug)]
struct TypeEdges {
    start: u64,
    count: u64,
    /// Whether the file holds the destination of each edge first.
    reversed: bool,
}

impl RawEdges {
    /// Size of an edge in the file.
    pub(crate) const BYTES: u64 = ENDS as u64;

    /// Releases the disk space; the edges can no longer be read.
    pub(crate) fn give_back(&self) -> Result<()> {
        self.file.clear()
    }

    /// Number of edges of a type.
    pub fn num_edges(&self, etype: usize) -> u64 {
        self.types[etype].count
    }

    /// Edges for another list of types: for each, the type here that has its edges, and whether they are reversed.
    pub(crate) fn in_order(self, order: impl Iterator<Item = (usize, bool)>) -> Self {
        let types = order.map(|(etype, reversed)| {
            let edges = self.types[etype];
            TypeEdges { reversed: edges.reversed != reversed, ..edges }
        });
        RawEdges { types: types.collect(), ..self }
    }

    /// Calls `take` with the first edge of a block, and the sources and destinations of its edges, as type-wise ids.
    ///
    /// # Errors
    /// If the file cannot be read, or `take` fails.
    pub fn read(
        &self,
        etype: usize,
        mut take: impl FnMut(u64, &[[u64; 2]]) -> Result<()>,
    ) -> Result<()> {
        let (mut bytes, mut edges) = (Vec::new(), Vec::new());
        let TypeEdges { start, reversed, .. } = self.types[etype];
        let all = 0..self.num_edges(etype);
        for first in all.clone().step_by(BLOCK as usize) {
            let count = BLOCK.min(all.end - first);
            bytes.resize(count as usize * ENDS, 0);
            self.file.read_at(&mut bytes, (start + first) * Self::BYTES)?;
            edges.clear();
            edges.extend(bytes.as_chunks::<ENDS>().0.iter().map(ends_of));
            if reversed {
                for ends in &mut edges {
                    ends.reverse();
                }
            }
            take(first, &edges)?;
        }
        Ok(())
    }
}

/// The ends of an edge as bytes.
pub(crate) fn bytes_of_ends([src, dst]: [u64; 2]) -> [u8; ENDS] {
    let mut bytes = [0; ENDS];
    bytes[..ID].copy_from_slice(&src.to_le_bytes()[..ID]);
    bytes[ID..].copy_from_slice(&dst.to_le_bytes()[..ID]);
    bytes
}

/// The ends that bytes hold.
pub(crate) fn ends_of([a, b, c, d, e, f, g, h, i, j]: &[u8; ENDS]) -> [u64; 2] {
    [[a, b, c, d, e], [f, g, h, i, j]]
        .map(|[a, b, c, d, e]| u64::from_le_bytes([*a, *b, *c, *d, *e, 0, 0, 0]))
}

/// A writer of edges, type by type.
#[derive(Debug)]
pub(crate) struct RawEdgeWriter {
    file: UnnamedWriter,
    starts: Vec<u64>,
    edges: u64,
}

impl RawEdgeWriter {
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        let file = UnnamedWriter::create(folder)?;
        Ok(RawEdgeWriter { file, starts: Vec::new(), edges: 0 })
    }

    /// Starts the next type.
    pub(crate) fn start_type(&mut self) {
        self.starts.push(self.edges);
    }

    /// Range of the current type's edges so far.
    pub(crate) fn of_type(&self) -> Range<u64> {
        0..self.edges - self.starts.last().copied().unwrap_or(0)
    }

    /// Appends an edge of the type started last; ids are below [`MAX_IDS`](crate::graph::MAX_IDS).
    pub(crate) fn push(&mut self, src: u64, dst: u64) -> Result<()> {
        self.edges += 1;
        self.file.write(&bytes_of_ends([src, dst]))
    }

    pub(crate) fn finish(mut self) -> Result<RawEdges> {
        self.start_type();
        let types = self.starts.windows(2);
        let types = types.map(|ends| {
            let (start, count) = (ends[0], ends[1] - ends[0]);
            TypeEdges { start, count, reversed: false }
        });
        Ok(RawEdges { file: self.file.finish()?, types: types.collect() })
    }
}

//! Neighbours of all nodes, on disk.

use std::path::Path;

use super::edge_rules::RuledEdges;
use super::progress::Meter;
use crate::io::{ExternalSort, UnnamedFile, UnnamedWriter};
use crate::words::error::{Error, Result};

/// Number of bytes read at a time.
const BUFFER: usize = 1 << 20;

/// For each node, its number of owned edges and its neighbours. Neighbours ignore the direction of edges; each is
/// listed once, in ascending order, without the node itself.
///
/// Per node the file holds the number of neighbours, the number of edges, the first neighbour, and from each neighbour
/// to the next the distance less one; all as LEB128 (seven bits per byte). The file is read in node order.
#[derive(Debug)]
pub(super) struct Adjacency {
    file: UnnamedFile,
    bytes: u64,
    pub(super) num_nodes: u64,
    /// Total number of neighbours.
    pub(super) entries: u64,
}

impl Adjacency {
    /// Builds the lists by sorting a graph's edges.
    pub(super) fn build(
        edges: &RuledEdges<'_>,
        num_nodes: u64,
        folder: &Path,
        memory: u64,
        meter: &mut Meter<'_, '_>,
    ) -> Result<Self> {
        // The last bit marks the owner of the edge.
        let mut sort = ExternalSort::new(folder, [num_nodes, num_nodes, 2], memory)?;
        edges.for_each(|edge| {
            meter.tick()?;
            sort.push([edge.dst, edge.src, 1])?;
            sort.push([edge.src, edge.dst, 0])
        })?;
        let mut sorted = sort.finish()?;
        let mut writer = AdjacencyWriter::create(folder)?;
        let mut next = sorted.next()?;
        let mut neighbours = Vec::new();
        for node in 0..num_nodes {
            let mut owned = 0;
            neighbours.clear();
            while let Some([this, neighbour, owns]) = next.filter(|[this, ..]| *this == node) {
                owned += owns;
                if neighbour != this && neighbours.last() != Some(&neighbour) {
                    neighbours.push(neighbour);
                }
                next = sorted.next()?;
            }
            meter.add(owned)?;
            writer.push(owned, &neighbours)?;
        }
        writer.finish(num_nodes)
    }

    /// Starts a pass over all nodes.
    pub(super) fn read(&self) -> AdjacencyReader<'_> {
        AdjacencyReader {
            adjacency: self,
            place: 0,
            buffer: Vec::new(),
            at: 0,
            left: 0,
            last: None,
        }
    }
}

struct AdjacencyWriter {
    file: UnnamedWriter,
    bytes: u64,
    entries: u64,
}

impl AdjacencyWriter {
    fn create(folder: &Path) -> Result<Self> {
        Ok(AdjacencyWriter { file: UnnamedWriter::create(folder)?, bytes: 0, entries: 0 })
    }

    fn push(&mut self, owned: u64, neighbours: &[u64]) -> Result<()> {
        self.put(neighbours.len() as u64)?;
        self.put(owned)?;
        let mut due = 0;
        for &neighbour in neighbours {
            self.put(neighbour - due)?;
            due = neighbour + 1;
        }
        self.entries += neighbours.len() as u64;
        Ok(())
    }

    fn put(&mut self, mut value: u64) -> Result<()> {
        let mut bytes = [0; 10];
        let mut len = 0;
        while value >= 0x80 {
            bytes[len] = value as u8 | 0x80;
            value >>= 7;
            len += 1;
        }
        bytes[len] = value as u8;
        self.bytes += len as u64 + 1;
        self.file.write(&bytes[..=len])
    }

    fn finish(self, num_nodes: u64) -> Result<Adjacency> {
        let AdjacencyWriter { file, bytes, entries } = self;
        Ok(Adjacency { file: file.finish()?, bytes, num_nodes, entries })
    }
}

/// A pass over all nodes.
pub(super) struct AdjacencyReader<'a> {
    adjacency: &'a Adjacency,
    place: u64,
    buffer: Vec<u8>,
    at: usize,
    /// Number of unread neighbours of the current node.
    left: u64,
    /// The neighbour read last for this node.
    last: Option<u64>,
}

impl AdjacencyReader<'_> {
    /// Moves to the next node and returns its numbers of neighbours and edges. Skips unread neighbours of the previous
    /// node.
    pub(super) fn node(&mut self) -> Result<(u64, u64)> {
        while self.neighbour()?.is_some() {}
        self.left = self.get()?;
        self.last = None;
        Ok((self.left, self.get()?))
    }

    /// The next neighbour of the current node.
    #[inline]
    pub(super) fn neighbour(&mut self) -> Result<Option<u64>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let distance = self.get()?;
        let neighbour = self.last.map_or(distance, |last| last + 1 + distance);
        self.last = Some(neighbour);
        Ok(self.last)
    }

    #[inline]
    fn get(&mut self) -> Result<u64> {
        let (mut value, mut shift) = (0, 0);
        loop {
            if self.at == self.buffer.len() {
                self.fill()?;
            }
            let byte = self.buffer[self.at];
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
            shift += 7;
        }
    }

    fn fill(&mut self) -> Result<()> {
        let Adjacency { file, bytes, .. } = self.adjacency;
        let count = (bytes - self.place).min(BUFFER as u64);
        if count == 0 {
            return Err(Error::internal("a node beyond the last one was requested"));
        }
        self.buffer.resize(count as usize, 0);
        file.read_at(&mut self.buffer, self.place)?;
        self.place += count;
        self.at = 0;
        Ok(())
    }
}

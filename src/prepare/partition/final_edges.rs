//! All edges in partition order.

use std::path::Path;

use super::edge_rules::RuledEdges;
use super::node_map::NodeMap;
use super::progress::Meter;
use crate::formats::dgl::writer::PartitionEdges;
use crate::graph::IdRanges;
use crate::io::{BucketSpool, ExternalSort, KeyLayout, UnnamedFile, UnnamedWriter};
use crate::prepare::import::RawGraph;
use crate::words::error::{Error, Result};

/// Number of edges read at a time.
const BLOCK: u64 = 1 << 15;

/// Size in bytes of the buffers for edges that are also stored with their sources.
const HALO_BUFFERS: usize = 16 << 20;

/// Edges by partition, type, destination and source, in an unnamed file. Each belongs to its destination's partition.
/// An edge from another partition is stored again for that partition.
pub(super) struct FinalEdges {
    file: UnnamedFile,
    layout: KeyLayout<3>,
    /// Number of edges, `counts[partition][type]`.
    pub(super) counts: Vec<Vec<u64>>,
    halo: HaloEdges,
}

/// Edges that a second partition holds as well, grouped by it, in an unnamed file: source, destination and number of
/// the edge.
struct HaloEdges {
    layout: KeyLayout<3>,
    spool: BucketSpool,
}

/// The row of the input's tables with each edge's data, and the edge's type-wise new id.
pub(super) type EdgeRows = ExternalSort<2>;

pub(super) struct NewIds<'a> {
    pub(super) map: &'a NodeMap,
    pub(super) parts: &'a [u16],
    pub(super) ranges: &'a IdRanges,
}

impl FinalEdges {
    /// Sorts all edges, and takes them out of the graph. For types with tables, also returns the rows of their edges.
    pub(super) fn sort(
        graph: &RawGraph,
        edges: &RuledEdges<'_>,
        ids: &NewIds<'_>,
        dedup: bool,
        folder: &Path,
        memory: u64,
        meter: &mut Meter<'_, '_>,
    ) -> Result<(Self, Vec<Option<EdgeRows>>)> {
        let (num_nodes, num_parts) = (ids.ranges.total(), ids.ranges.num_parts());
        let types = graph.etypes.len();
        let id_end = (0..types).map(|etype| edges.id_end(etype)).max().unwrap_or(0);
        let largest = (0..num_parts).map(|part| ids.ranges.part_range(part));
        let largest = largest.map(|range| range.end - range.start).max().unwrap_or(0);
        let limits = [num_parts as u64, types as u64, largest, num_nodes, id_end];
        // Half for sorting, a quarter for rows of tables.
        let mut sort = ExternalSort::new(folder, limits, memory / 2)?;
        edges.for_each(|edge| {
            meter.tick()?;
            let part = usize::from(ids.parts[edge.dst as usize]);
            let dst = ids.map.get(edge.dst) - ids.ranges.part_range(part).start;
            let src = ids.map.get(edge.src);
            sort.push([part as u64, edge.etype as u64, dst, src, edge.id])
        })?;
        let with_tables = graph.etypes.iter().filter(|etype| !etype.data.is_empty()).count();
        let rows = (0..types).map(|etype| {
            if graph.etypes[etype].data.is_empty() {
                return Ok(None);
            }
            let limits = [graph.edges.num_edges(etype) + 1, edges.id_end(etype)];
            EdgeRows::new(folder, limits, memory / 4 / with_tables as u64).map(Some)
        });
        let rows = rows.collect::<Result<Vec<_>>>()?;
        let most = (0..types).map(|etype| edges.most(etype)).sum();
        let layout = KeyLayout::new([num_nodes, num_nodes, most])?;
        let spool = BucketSpool::create(folder, num_parts, layout.bytes(), HALO_BUFFERS)?;
        let mut writer = Writer {
            file: UnnamedWriter::create(folder)?,
            layout: KeyLayout::new([num_nodes, num_nodes, id_end])?,
            ranges: ids.ranges,
            counts: vec![vec![0; types]; num_parts],
            of_type: vec![0; types],
            edges: 0,
            halo: HaloEdges { layout, spool },
            rows,
        };
        let mut sorted = sort.finish()?;
        graph.edges.give_back()?;
        let mut last = None;
        while let Some([part, etype, dst, src, id]) = sorted.next()? {
            meter.tick()?;
            let ends = [part, etype, dst, src];
            if dedup && last.replace(ends) == Some(ends) {
                continue;
            }
            let dst = ids.ranges.part_range(part as usize).start + dst;
            let row = edges.row(etype as usize, id);
            let row = row.unwrap_or_else(|| graph.edges.num_edges(etype as usize));
            writer.push(part as usize, etype as usize, [src, dst, id], row)?;
        }
        writer.finish()
    }

    /// Calls `take` with the original ids of a partition's edges of one type, in order.
    pub(super) fn original_ids(
        &self,
        part: usize,
        etype: usize,
        mut take: impl FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        let before: u64 = self.counts[..part].iter().flatten().sum();
        let first = before + self.counts[part][..etype].iter().sum::<u64>();
        let mut ids = Vec::new();
        self.read(first, self.counts[part][etype], |edges| {
            ids.clear();
            ids.extend(edges.iter().map(|[.., id]| id));
            take(&ids)
        })
    }

    fn read(
        &self,
        first: u64,
        count: u64,
        mut take: impl FnMut(&[[u64; 3]]) -> Result<()>,
    ) -> Result<()> {
        let width = self.layout.bytes();
        let (mut bytes, mut edges) = (Vec::new(), Vec::new());
        let end = first + count;
        for start in (first..end).step_by(BLOCK as usize) {
            bytes.resize(BLOCK.min(end - start) as usize * width, 0);
            self.file.read_at(&mut bytes, start * width as u64)?;
            edges.clear();
            edges.extend(bytes.chunks_exact(width).map(|bytes| self.layout.unpack_bytes(bytes)));
            take(&edges)?;
        }
        Ok(())
    }
}

impl PartitionEdges for FinalEdges {
    fn inner(&self, part: usize, take: &mut dyn FnMut(&[[u64; 2]]) -> Result<()>) -> Result<()> {
        let first = self.counts[..part].iter().flatten().sum();
        let mut ends = Vec::new();
        self.read(first, self.counts[part].iter().sum(), |edges| {
            ends.clear();
            ends.extend(edges.iter().map(|&[src, dst, _]| [src, dst]));
            take(&ends)
        })
    }

    fn num_halo(&self, part: usize) -> u64 {
        self.halo.spool.num_records(part)
    }

    fn halo(&self, part: usize, take: &mut dyn FnMut(&[[u64; 3]]) -> Result<()>) -> Result<()> {
        self.halo.read(part, take)
    }
}

impl HaloEdges {
    fn push(&mut self, part: usize, edge: [u64; 3]) -> Result<()> {
        let key = self.layout.pack(edge).to_le_bytes();
        self.spool.push(part, [&key[..self.layout.bytes()], &[]])
    }

    fn read(&self, part: usize, take: &mut dyn FnMut(&[[u64; 3]]) -> Result<()>) -> Result<()> {
        let mut edges = Vec::new();
        self.spool.read(part, |bytes| {
            edges.clear();
            let keys = bytes.chunks_exact(self.layout.bytes());
            edges.extend(keys.map(|key| self.layout.unpack_bytes(key)));
            take(&edges)
        })
    }
}

struct Writer<'a> {
    file: UnnamedWriter,
    layout: KeyLayout<3>,
    ranges: &'a IdRanges,
    counts: Vec<Vec<u64>>,
    /// Number of edges of each type so far.
    of_type: Vec<u64>,
    edges: u64,
    halo: HaloEdges,
    rows: Vec<Option<EdgeRows>>,
}

impl Writer<'_> {
    fn push(&mut self, part: usize, etype: usize, edge: [u64; 3], row: u64) -> Result<()> {
        let bytes = self.layout.pack(edge).to_le_bytes();
        self.file.write(&bytes[..self.layout.bytes()])?;
        let [src, dst, _] = edge;
        if !self.ranges.part_range(part).contains(&src) {
            let owner = self.ranges.part_of(src);
            let owner =
                owner.ok_or_else(|| Error::internal(format!("node {src} has no partition")))?;
            self.halo.push(owner, [src, dst, self.edges])?;
        }
        if let Some(rows) = &mut self.rows[etype] {
            rows.push([row, self.of_type[etype]])?;
        }
        self.counts[part][etype] += 1;
        self.of_type[etype] += 1;
        self.edges += 1;
        Ok(())
    }

    fn finish(mut self) -> Result<(FinalEdges, Vec<Option<EdgeRows>>)> {
        self.halo.spool.finish()?;
        let Writer { layout, counts, halo, rows, .. } = self;
        Ok((FinalEdges { file: self.file.finish()?, layout, counts, halo }, rows))
    }
}

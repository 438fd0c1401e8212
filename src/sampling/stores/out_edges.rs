//! Out-edges of the whole graph, by source.

use std::path::Path;
use std::sync::Arc;

use super::dist_graph::DistGraph;
use super::draws::{Draws, SampleKey};
use super::fanout::Fanout;
use super::index_file::IndexFile;
use super::sample::{Sampling, uniform};
use super::sorted::Sorted;
use crate::formats::dgl::InnerEdge;
use crate::graph::{InEdges, PartitionBook};
use crate::io::{DiskStorage, ExternalSort, Storage};
use crate::words::error::{Error, Result};

/// Number of edges written at a time.
const BLOCK: usize = 1 << 16;

/// Memory for sorting, in bytes; larger inputs are sorted on disk.
const MEMORY: u64 = 256 << 20;

/// Destination and id of an edge.
type OutRecord = [u64; 2];

const RECORD: u64 = size_of::<OutRecord>() as u64;

/// Out-edges of a list of nodes, node by node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutNeighbors {
    /// Number of out-edges of each node.
    pub counts: Vec<u32>,
    /// Global id of each edge's destination.
    pub destinations: Vec<u64>,
    /// Global id of each edge.
    pub edges: Vec<u64>,
}

/// Edges of one node that compete in a draw.
struct OutSegment<'r> {
    etype: u32,
    fanout: i64,
    records: &'r [OutRecord],
}

/// An index of all nodes' out-edges, on disk: DGL's `sample_neighbors` with `edge_dir="out"`. A partition holds the
/// edges into its nodes, so a node's out-edges lie in many partitions' files; this index gathers them. (DGL only draws
/// from the edges in the node's own partition.) It can be shared by threads.
pub struct OutEdgeIndex {
    book: Arc<PartitionBook>,
    index: IndexFile,
}

impl OutEdgeIndex {
    /// Writes the index into `folder` (16 bytes per edge, 8 per node), which the caller removes, and opens it. Takes 8 bytes of
    /// memory per node, and up to 256 MiB.
    ///
    /// ```
    /// use sar::formats::dgl::config::PartitionConfig;
    /// use sar::sampling::stores::{
    ///     DistGraph, Fanout, GraphSource, IndexConfig, OutEdgeIndex, SampleKey, Sampling,
    /// };
    ///
    /// let folder = tempfile::tempdir().expect("a folder");
    /// let config = PartitionConfig::open("data/karate/karate.json".as_ref())?;
    /// let graph = DistGraph::create(&config, &IndexConfig::default(), folder.path())?;
    /// let out_edges = OutEdgeIndex::create(&graph, folder.path())?;
    /// let how = Sampling { fanout: Fanout::ALL, replace: false, weighted: false };
    /// let key = SampleKey { seed: 0, epoch: 0, batch: 0, layer: 0 };
    /// let drawn = out_edges.sample_neighbors(&[33], &how, key)?;
    /// assert_eq!(u64::from(drawn.counts[0]), graph.out_degrees(&[33])?[0]);
    /// # Ok::<(), sar::Error>(())
    /// ```
    ///
    /// # Errors
    /// If edges cannot be read, or the file cannot be written.
    pub fn create(graph: &DistGraph, folder: &Path) -> Result<Self> {
        let book = graph.book().clone();
        let [nodes, edges, etypes] =
            [book.num_nodes(), book.num_edges(), book.etypes().len() as u64];
        let mut sort = ExternalSort::new(folder, [nodes, etypes, edges, nodes], MEMORY)?;
        let mut starts = vec![0_u64; nodes as usize + 1];
        for part in 0..book.num_parts() {
            graph.local_partition(part)?.each_edge(|InnerEdge { src, dst, id, .. }| {
                let etype = book.edge_type(id).unwrap_or_default() as u64;
                starts[src as usize + 1] += 1;
                sort.push([src, etype, id, dst])
            })?;
        }
        for node in 1..starts.len() {
            starts[node] += starts[node - 1];
        }
        let (path, storage) = (folder.join("out-edges"), DiskStorage::default());
        let counters = graph.counters().clone();
        let mut file = storage.create(&path).map_err(|e| Error::io("create", &path, e))?;
        let mut write = |bytes: &[u8]| {
            counters.wrote(bytes.len() as u64);
            file.write(bytes).map_err(|e| Error::io("write", &path, e))
        };
        let mut sorted = sort.finish()?;
        let mut records: Vec<OutRecord> = Vec::with_capacity(BLOCK);
        while let Some([_, _, edge, destination]) = sorted.next()? {
            records.push([destination, edge]);
            if records.len() == BLOCK {
                write(bytemuck::cast_slice(&records))?;
                records.clear();
            }
        }
        write(bytemuck::cast_slice(&records))?;
        write(bytemuck::cast_slice(&starts))?;
        let file = file.finish().map_err(|e| Error::io("write", &path, e))?;
        Ok(OutEdgeIndex { book, index: IndexFile { path, file, counters } })
    }

    /// Draws out-edges of nodes (homogeneous ids), node by node in the order of `nodes`, each node's edges by ascending
    /// type and id. A pure function of the graph, `how`, `key` and each node.
    ///
    /// # Errors
    /// If a node does not exist, the file cannot be read, or edges are to be drawn with probabilities.
    pub fn sample_neighbors(
        &self,
        nodes: &[u64],
        how: &Sampling,
        key: SampleKey,
    ) -> Result<OutNeighbors> {
        if how.weighted {
            let problem = "out-edges are drawn uniformly";
            return Err(Error::config("edge probabilities", problem));
        }
        let sorted = Sorted::new(nodes, "node", self.book.num_nodes())?;
        let mut drawn = InEdges::default();
        let num_edges = self.book.num_edges();
        let starts = num_edges * RECORD;
        sorted.each_part(
            1,
            |_| 0..self.book.num_nodes(),
            |_, ids, _| {
                let rows = self.index.rows(starts, ids, num_edges)?;
                let place = |i: usize| rows[i].start * RECORD..rows[i].end * RECORD;
                self.index.read(ids.len(), place, |i, bytes| {
                    let records = bytes.as_chunks::<{ RECORD as usize }>().0.iter();
                    let records: Vec<OutRecord> =
                        records.map(|record| bytemuck::pod_read_unaligned(record)).collect();
                    let before = drawn.edges.len();
                    for segment in self.segments(&records, &how.fanout) {
                        let OutSegment { etype, fanout, records: own } = segment;
                        let mut positions = Vec::new();
                        let draws = Draws::new(key, etype, ids[i]);
                        let count = own.len() as u64;
                        if uniform(count, fanout, how.replace, draws, &mut positions) {
                            positions = (0..count as u32).collect();
                        }
                        positions.sort_unstable();
                        let picked = positions.iter().map(|position| own[*position as usize]);
                        drawn.sources.extend(picked.clone().map(|[destination, _]| destination));
                        drawn.edges.extend(picked.map(|[_, edge]| edge));
                    }
                    drawn.counts.push((drawn.edges.len() - before) as u32);
                })
            },
        )?;
        let InEdges { counts, sources: destinations, edges, .. } = sorted.restore(&[drawn]);
        Ok(OutNeighbors { counts, destinations, edges })
    }

    /// Sets of edges that compete in a draw: all edges of a node, or its edges of each type.
    fn segments<'r>(&self, records: &'r [OutRecord], fanout: &Fanout) -> Vec<OutSegment<'r>> {
        match fanout {
            Fanout::Total(fanout) => vec![OutSegment { etype: 0, fanout: *fanout, records }],
            Fanout::PerEtype(fanouts) => {
                let etype = |[_, edge]: &OutRecord| self.book.edge_type(*edge).unwrap_or_default();
                let same = records.chunk_by(|a, b| etype(a) == etype(b));
                let of_type = same.map(|records| {
                    let etype = etype(&records[0]);
                    let fanout = fanouts.get(etype).copied().unwrap_or(0);
                    OutSegment { etype: etype as u32, fanout, records }
                });
                of_type.collect()
            }
        }
    }
}

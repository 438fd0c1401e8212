//! Samples of a partition's edges that do not require reading all of them.

use std::ops::Range;

use super::array::ArrayRef;
use super::blocks;
use super::config::PartitionConfig;
use super::nodes::node_table::NodeTable;
use super::partition::Partition;
use super::structure::local_graph::Entries;
use super::topology::Topology;
use crate::words::error::Result;

/// Number of edges per run if all edges are taken.
const BLOCK: u64 = 64 << 10;

/// A run of consecutive inner edges.
#[derive(Clone, Debug, Default)]
pub struct EdgeRun {
    /// Global id of the source and index of the destination among the inner nodes, per edge.
    pub edges: Vec<[u64; 2]>,
    /// Whether the file groups edges by destination.
    pub by_destination: bool,
}

/// A partition from which edges are sampled; its node ids, which opening it checks, are read only once.
#[derive(Debug)]
pub struct SampledPartition {
    partition: Partition,
    nodes: NodeTable,
}

/// Distribution of a sample over a file: a number of runs with a maximum length.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    /// Number of runs.
    pub runs: u64,
    /// Largest number of edges of a run.
    pub max: u64,
}

impl SampledPartition {
    /// Opens the files of partition `part`.
    ///
    /// # Errors
    /// As for [`Partition::open`].
    pub fn open(config: &PartitionConfig, part: usize) -> Result<Self> {
        let (topology, nodes) = Topology::open_with_nodes(config, part)?;
        Ok(SampledPartition { partition: Partition::with_features(config, part, topology)?, nodes })
    }

    /// The partition.
    pub fn partition(&self) -> &Partition {
        &self.partition
    }

    /// Calls `take` with runs from places all over the file; if the partition has no more edges than the sample, with
    /// all edges, run by run. Edge ids are not read.
    ///
    /// # Errors
    /// If the ends of edges cannot be read.
    pub fn visit(&self, spread: Spread, take: &mut dyn FnMut(&EdgeRun)) -> Result<()> {
        let graph = self.partition.topology().graph();
        let total = graph.num_edges;
        let whole = total <= spread.runs.saturating_mul(spread.max);
        let runs = if whole { total.div_ceil(BLOCK).max(1) } else { spread.runs };
        let (mut ends, mut found) = (Ends::default(), EdgeRun::default());
        for run in 0..runs {
            let part = |rows: u64| rows * run / runs..rows * (run + 1) / runs;
            match &graph.entries {
                Entries::Pairs { src, dst } if whole => {
                    blocks::read(src, part(total), &mut ends.src)?;
                    blocks::read(dst, part(total), &mut ends.dst)?;
                }
                Entries::Pairs { src, dst } => {
                    // The run is in the middle of its part of the file.
                    let Spread { max, .. } = spread;
                    let begin = total / runs * run + (total / runs).saturating_sub(max) / 2;
                    let entries = begin.min(total)..total.min(begin + max);
                    blocks::read(src, entries.clone(), &mut ends.src)?;
                    blocks::read(dst, entries, &mut ends.dst)?;
                }
                Entries::ByDestination { indptr, src: other }
                | Entries::BySource { indptr, dst: other } => {
                    let rows = indptr.num_rows().saturating_sub(1);
                    if whole {
                        ends.read_rows([indptr, other], part(rows), u64::MAX)?;
                    } else {
                        let each = (rows * spread.max / total.max(1)).max(1);
                        let first = rows / runs * run;
                        let some = first..(first + each).min(rows);
                        ends.read_rows([indptr, other], some, spread.max)?;
                    }
                    if matches!(graph.entries, Entries::BySource { .. }) {
                        std::mem::swap(&mut ends.src, &mut ends.dst);
                    }
                }
            }
            self.name(&ends, &mut found.edges);
            let rising = found.edges.windows(2).filter(|pair| pair[0][1] <= pair[1][1]).count();
            found.by_destination = (rising + 1) as f64 >= 0.98 * found.edges.len() as f64;
            take(&found);
        }
        Ok(())
    }

    /// Appends the inner edges among those with these ends.
    fn name(&self, ends: &Ends, edges: &mut Vec<[u64; 2]>) {
        let nodes = &self.nodes;
        edges.clear();
        edges.extend(ends.src.iter().zip(&ends.dst).filter_map(|(src, dst)| {
            Some([nodes.global(*src)?, nodes.inner_index(nodes.global(*dst)?)?])
        }));
    }
}

/// Local nodes at the two ends of edges, in reusable buffers.
#[derive(Default)]
struct Ends {
    src: Vec<u64>,
    dst: Vec<u64>,
    indptr: Vec<u64>,
}

impl Ends {
    /// Reads at most `max` edges of a range of rows from an array that is sorted by row; the other ends become sources.
    fn read_rows(
        &mut self,
        [indptr, other]: [&ArrayRef; 2],
        rows: Range<u64>,
        max: u64,
    ) -> Result<()> {
        blocks::read(indptr, rows.start..rows.end + 1, &mut self.indptr)?;
        let total = other.num_rows();
        let first = self.indptr.first().copied().unwrap_or(0);
        let last = self.indptr.last().copied().unwrap_or(0).min(total);
        let last = last.min(first.saturating_add(max));
        blocks::read(other, first.min(last)..last, &mut self.src)?;
        self.dst.clear();
        for (row, ends) in rows.zip(self.indptr.windows(2)) {
            let end = ends[1].saturating_sub(first).min(self.src.len() as u64);
            self.dst.resize((end as usize).max(self.dst.len()), row);
        }
        Ok(())
    }
}

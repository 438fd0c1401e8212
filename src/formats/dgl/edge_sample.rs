//! Samples of a partition's edges, without a pass over all of them.

use crate::error::Result;
use crate::formats::dgl::blocks;
use crate::formats::dgl::local_graph::Entries;
use crate::formats::dgl::partition::Partition;

/// A run of consecutive inner edges.
#[derive(Clone, Debug, Default)]
pub struct EdgeRun {
    /// Global id of the source and index of the destination among the inner nodes, per edge.
    pub edges: Vec<[u64; 2]>,
    /// Whether the file groups edges by destination.
    pub by_destination: bool,
}

impl Partition {
    /// Reads `runs` runs of at most `max` edges each, from places all over the file, or all edges if the partition has no more.
    /// Edge ids are not read.
    ///
    /// # Errors
    /// If the ids of nodes or the ends of edges cannot be read.
    pub fn sample_edges(&self, runs: u64, max: u64) -> Result<Vec<EdgeRun>> {
        let graph = self.topology().graph();
        let nodes = self.topology().nodes()?;
        let total = graph.num_edges;
        let (runs, max) = if total <= runs * max { (1, total) } else { (runs, max) };
        let (mut src, mut dst, mut indptr) = (Vec::new(), Vec::new(), Vec::new());
        let mut found = Vec::new();
        for run in 0..runs {
            // The run lies in the middle of its share of the file.
            let begin = (total / runs * run + (total / runs).saturating_sub(max) / 2).min(total);
            let entries = begin..total.min(begin + max);
            match &graph.entries {
                Entries::Pairs { src: sources, dst: destinations } => {
                    blocks::read(sources, entries.clone(), &mut src)?;
                    blocks::read(destinations, entries.clone(), &mut dst)?;
                }
                Entries::ByDestination { indptr: starts, src: other }
                | Entries::BySource { indptr: starts, dst: other } => {
                    let rows = starts.num_rows().saturating_sub(1);
                    let each = if runs == 1 { rows } else { (rows * max / total.max(1)).max(1) };
                    let first = rows / runs * run;
                    blocks::read(starts, first..(first + each).min(rows) + 1, &mut indptr)?;
                    let first_entry = indptr.first().copied().unwrap_or(0);
                    let last_entry = indptr.last().copied().unwrap_or(0).min(total);
                    let last_entry = last_entry.min(first_entry.saturating_add(max));
                    blocks::read(other, first_entry.min(last_entry)..last_entry, &mut src)?;
                    dst.clear();
                    for (row, ends) in (first..).zip(indptr.windows(2)) {
                        let end = ends[1].saturating_sub(first_entry).min(src.len() as u64);
                        dst.resize((end as usize).max(dst.len()), row);
                    }
                    if matches!(graph.entries, Entries::BySource { .. }) {
                        std::mem::swap(&mut src, &mut dst);
                    }
                }
            }
            let global = |local: &u64| nodes.global(*local);
            let edges: Vec<[u64; 2]> = src
                .iter()
                .zip(&dst)
                .filter_map(|(src, dst)| Some([global(src)?, nodes.inner_index(global(dst)?)?]))
                .collect();
            let rising = edges.windows(2).filter(|pair| pair[0][1] <= pair[1][1]).count();
            let by_destination = (rising + 1) as f64 >= 0.98 * edges.len() as f64;
            found.push(EdgeRun { edges, by_destination });
        }
        Ok(found)
    }
}

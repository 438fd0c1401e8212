//! Lists of ids, partition by partition.

use std::ops::Range;

use crate::graph::InEdges;
use crate::words::error::{Error, Result};

/// Ids in ascending order, with their original positions.
pub(super) struct Sorted {
    ids: Vec<u64>,
    places: Vec<u32>,
}

impl Sorted {
    /// Sorts ids of nodes or edges (`what`); all must be less than `total`.
    pub(super) fn new(ids: &[u64], what: &str, total: u64) -> Result<Self> {
        if let Some(id) = ids.iter().find(|id| **id >= total) {
            let problem = format!("there is no {what} {id}; ids are below {total}");
            return Err(Error::config("ids", problem));
        }
        // Pairs, because sorting positions by ids in another array takes three times as long.
        let mut pairs: Vec<(u64, u32)> = ids.iter().copied().zip(0..).collect();
        pairs.sort_unstable();
        let (ids, places) = pairs.into_iter().unzip();
        Ok(Sorted { ids, places })
    }

    /// Passes each partition's ids, counted inside the partition, and their original positions to `work`.
    pub(super) fn each_part(
        &self,
        parts: usize,
        range_of: impl Fn(usize) -> Range<u64>,
        mut work: impl FnMut(usize, &[u64], &[u32]) -> Result<()>,
    ) -> Result<()> {
        let mut begin = 0;
        for part in 0..parts {
            let range = range_of(part);
            let end = self.ids.partition_point(|id| *id < range.end);
            if begin < end {
                let own = self.ids[begin..end].iter().map(|id| id - range.start);
                work(part, &own.collect::<Vec<_>>(), &self.places[begin..end])?;
            }
            begin = end;
        }
        Ok(())
    }

    /// The partitions' drawn edges, in the original order of the nodes.
    pub(super) fn restore(&self, parts: &[InEdges]) -> InEdges {
        let mut counts = vec![0; self.places.len()];
        let drawn = parts.iter().flat_map(|drawn| &drawn.counts);
        for (place, count) in self.places.iter().zip(drawn) {
            counts[*place as usize] = *count;
        }
        let mut starts = Vec::with_capacity(counts.len());
        let mut total = 0;
        for count in &counts {
            starts.push(total);
            total += *count as usize;
        }
        let (mut sources, mut edges) = (vec![0; total], vec![0; total]);
        let weighted = parts.iter().any(|drawn| !drawn.weights.is_empty());
        let mut weights = vec![0.0; if weighted { total } else { 0 }];
        let mut places = self.places.iter();
        for drawn in parts {
            let mut from = 0;
            for (count, place) in drawn.counts.iter().zip(&mut places) {
                let (to, len) = (starts[*place as usize], *count as usize);
                sources[to..to + len].copy_from_slice(&drawn.sources[from..from + len]);
                edges[to..to + len].copy_from_slice(&drawn.edges[from..from + len]);
                if weighted {
                    weights[to..to + len].copy_from_slice(&drawn.weights[from..from + len]);
                }
                from += len;
            }
        }
        InEdges { counts, sources, edges, weights }
    }
}

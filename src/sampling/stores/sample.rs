//! Draws in-edges of a partition's nodes.

use std::ops::Range;

use super::draws::{Draws, SampleKey, without_replacement};
use super::fanout::Fanout;
use super::neighbor_index::NeighborIndex;
use crate::graph::InEdges;
use crate::words::error::{Error, Result};

/// How in-edges are drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sampling {
    /// Number of edges that are drawn.
    pub fanout: Fanout,
    /// Whether an edge may be drawn several times. If not, all edges of a node are drawn if it has no more than the
    /// fan-out.
    pub replace: bool,
    /// Whether edges are drawn with the index's probabilities (never with probability 0) or uniformly.
    pub weighted: bool,
}

/// Edges of one node that compete in a draw.
struct Segment {
    node: usize,
    etype: u32,
    places: Range<u64>,
    fanout: i64,
}

impl NeighborIndex {
    /// Draws in-edges of `nodes` (indices in the partition, ascending; `first_node` is the global id of index 0). Edges of a
    /// node come in ascending order of their ids, with weights if the index has them.
    ///
    /// # Errors
    /// If probabilities are requested from an index without any, or the file cannot be read.
    pub fn sample(
        &self,
        nodes: &[u64],
        first_node: u64,
        how: &Sampling,
        key: SampleKey,
    ) -> Result<InEdges> {
        let rows = self.rows(nodes)?;
        let segments = self.segments(rows, &how.fanout)?;
        let Picked { counts, places, times } =
            self.picks(&segments, nodes, first_node, how, key)?;
        let total = counts.iter().map(|count| *count as usize).sum();
        let mut drawn = InEdges { counts, ..InEdges::default() };
        drawn.sources.reserve_exact(total);
        drawn.edges.reserve_exact(total);
        self.records(&places, |i, [source, edge]| {
            for _ in 0..times[i] {
                drawn.sources.push(u64::from(source));
                drawn.edges.push(self.global_edge(edge));
            }
        })?;
        if self.has_weights() {
            self.weights(&places, |i, weight| {
                drawn.weights.extend(std::iter::repeat_n(weight, times[i] as usize));
            })?;
        }
        Ok(drawn)
    }

    /// Splits rows by edge type where each type has its own fan-out. Edges of a row are sorted by id, hence by type.
    fn segments(&self, rows: Vec<Range<u64>>, fanout: &Fanout) -> Result<Vec<Segment>> {
        let fanouts = match fanout {
            Fanout::Total(fanout) => {
                let whole = |(node, places)| Segment { node, etype: 0, places, fanout: *fanout };
                return Ok(rows.into_iter().enumerate().map(whole).collect());
            }
            Fanout::PerEtype(fanouts) => fanouts,
        };
        let mut segments: Vec<Segment> = Vec::new();
        let mut place = 0;
        let mut row = usize::MAX;
        self.records(&rows, |node, [_, edge]| {
            if node != row {
                (row, place) = (node, rows[node].start);
            }
            let etype = self.etype(edge);
            match segments.last_mut() {
                Some(last) if last.node == node && last.etype == etype as u32 => {
                    last.places.end = place + 1;
                }
                _ => {
                    let fanout = fanouts.get(etype).copied().unwrap_or(0);
                    let places = place..place + 1;
                    segments.push(Segment { node, etype: etype as u32, places, fanout });
                }
            }
            place += 1;
        })?;
        Ok(segments)
    }

    fn picks(
        &self,
        segments: &[Segment],
        nodes: &[u64],
        first_node: u64,
        how: &Sampling,
        key: SampleKey,
    ) -> Result<Picked> {
        let draws =
            |segment: &Segment| Draws::new(key, segment.etype, first_node + nodes[segment.node]);
        let mut picked = Picked { counts: vec![0; nodes.len()], ..Picked::default() };
        let mut positions = Vec::new();
        if !how.weighted {
            for segment in segments {
                let edges = segment.places.end - segment.places.start;
                let all =
                    uniform(edges, segment.fanout, how.replace, draws(segment), &mut positions);
                picked.add(segment, if all { None } else { Some(&mut positions) });
            }
            return Ok(picked);
        }
        if !self.has_probabilities() {
            let problem = "edges have none; name their feature with IndexConfig::probability when you open the graph";
            return Err(Error::config("edge probabilities", problem));
        }
        let places: Vec<_> = segments.iter().map(|s| s.places.clone()).collect();
        let mut done = 0;
        let mut values: Vec<f32> = Vec::new();
        let mut finish = |until: usize, values: &mut Vec<f32>| {
            for segment in &segments[done..until] {
                let mut positions = weighted(values, segment.fanout, how.replace, draws(segment));
                picked.add(segment, Some(&mut positions));
                values.clear();
            }
            done = until;
        };
        self.probabilities(&places, |i, probability| {
            finish(i, &mut values);
            values.push(probability);
        })?;
        finish(segments.len(), &mut values);
        Ok(picked)
    }
}

/// Drawn edges: index ranges, and how many times each edge is drawn.
#[derive(Default)]
struct Picked {
    /// Number of edges of each node.
    counts: Vec<u32>,
    places: Vec<Range<u64>>,
    times: Vec<u32>,
}

impl Picked {
    /// Adds the edges at some positions of a segment (repeated for each time it was drawn), or all edges.
    fn add(&mut self, segment: &Segment, positions: Option<&mut Vec<u32>>) {
        let Segment { node, places, .. } = segment;
        let Some(positions) = positions else {
            if !places.is_empty() {
                self.counts[*node] += (places.end - places.start) as u32;
                self.places.push(places.clone());
                self.times.push(1);
            }
            return;
        };
        positions.sort_unstable();
        self.counts[*node] += positions.len() as u32;
        for same in positions.chunk_by(|a, b| a == b) {
            let place = places.start + u64::from(same[0]);
            self.places.push(place..place + 1);
            self.times.push(same.len() as u32);
        }
    }
}

/// Draws positions below `edges`; returns whether all are drawn once.
pub(super) fn uniform(
    edges: u64,
    fanout: i64,
    replace: bool,
    mut draws: Draws,
    positions: &mut Vec<u32>,
) -> bool {
    positions.clear();
    let Ok(fanout) = u64::try_from(fanout) else { return true };
    if !replace && fanout >= edges {
        return true;
    }
    if edges == 0 {
        return false;
    }
    if replace {
        positions.extend((0..fanout).map(|_| draws.below(edges as u32)));
    } else {
        without_replacement(edges as u32, fanout as u32, &mut draws, positions);
    }
    false
}

/// Draws positions with probabilities proportional to `values`. Without replacement, each position is drawn from those
/// that remain; sorting exponential variables with these rates has the same distribution in one pass (Efraimidis and
/// Spirakis 2006).
fn weighted(values: &[f32], fanout: i64, replace: bool, mut draws: Draws) -> Vec<u32> {
    let possible = values.iter().filter(|p| **p > 0.0).count();
    let all = || (0..values.len() as u32).filter(|i| values[*i as usize] > 0.0).collect();
    let Ok(fanout) = usize::try_from(fanout) else { return all() };
    if fanout == 0 {
        return Vec::new();
    }
    if possible == 0 || (!replace && fanout >= possible) {
        return all();
    }
    if replace {
        let sums = values.iter().scan(0.0, |sum, p| {
            *sum += f64::from(*p);
            Some(*sum)
        });
        let sums: Vec<f64> = sums.collect();
        let total = sums[sums.len() - 1];
        let draw = |_| {
            // The product may be rounded up to the total, but the target must be below it.
            let target = (draws.unit() * total).min(total.next_down());
            sums.partition_point(|s| *s <= target) as u32
        };
        return (0..fanout).map(draw).collect();
    }
    let arrivals = values.iter().map(|p| -draws.unit_above_zero().ln() / f64::from(*p));
    let possible = |(arrival, _): &(f64, u32)| arrival.is_finite();
    let mut arrivals: Vec<(f64, u32)> = arrivals.zip(0..).filter(possible).collect();
    let by_time = |a: &(f64, u32), b: &(f64, u32)| a.0.total_cmp(&b.0);
    arrivals.select_nth_unstable_by(fanout - 1, by_time);
    arrivals.into_iter().take(fanout).map(|(_, i)| i).collect()
}

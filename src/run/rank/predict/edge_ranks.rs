//! Filtered ranks of edges that were kept back, among all nodes that could stand at one of their ends.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rayon::prelude::*;
use tch::Tensor;

use super::held_edges::{HeldEdge, HeldEdges, KnownEnds};
use super::links::Linked;
use super::own_prediction::OwnPrediction;
use super::partners::places_in_type;
use super::rows::{self, table_rows};
use super::shared_rows::SharedRows;
use crate::engine::comm::{ReduceOp, all_reduce};
use crate::engine::tensor;
use crate::event::{Event, Metric, PredictionScores, SetScores};
use crate::load::EdgeUse;
use crate::words::error::Result;

/// Number of edges that are ranked at a time.
const BLOCK: usize = 1024;
/// Number of candidates that are scored at a time.
const CANDIDATES: usize = 4096;
const SOURCE: usize = 0;
const DESTINATION: usize = 1;

/// An edge with its ranks, on its way into a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::run) struct RankedEdge {
    pub(in crate::run) etype: usize,
    /// Places of source and destination.
    pub(in crate::run) places: [u64; 2],
    /// Rank of the source among all sources, and of the destination among all destinations.
    pub(in crate::run) ranks: [f32; 2],
}

/// Size of a stored edge in bytes.
pub(in crate::run) const RANKED_EDGE_BYTES: usize = 32;

impl RankedEdge {
    fn to_bytes(self) -> [u8; RANKED_EDGE_BYTES] {
        let [source, destination] = self.places;
        bytemuck::cast([self.etype as u64, source, destination, bytemuck::cast(self.ranks)])
    }

    /// The edge that was stored.
    pub(in crate::run) fn from_bytes(bytes: &[u8; RANKED_EDGE_BYTES]) -> Self {
        let [etype, source, destination, ranks]: [u64; 4] = bytemuck::cast(*bytes);
        let ranks = bytemuck::cast(ranks);
        RankedEdge { etype: etype as usize, places: [source, destination], ranks }
    }
}

/// Numbers of candidates with a higher score than the edge, and with the same.
type Counts = [i64; 2];

impl Linked<'_> {
    /// Ranks the edges of one use; known edges of the same type do not count. Each rank compares all edges with its own nodes; then the
    /// counts are added. Reports the scores, and writes a row per edge. Four collectives.
    pub(super) fn rank(&self, wanted: EdgeUse, name: &str) -> Result<()> {
        let OwnPrediction { setup, here, .. } = *self.own;
        let uses = self.link.uses(&setup.partition, self.own.work.config.run.seed)?;
        let held = HeldEdges::share(self.own, uses, wanted)?;
        let rows = SharedRows::by_node(self.own, self.outputs)?;
        let counts = self.counts(&held, &rows)?;
        // Between the best and the worst place among candidates of the same score.
        let ranks: Vec<f64> = {
            let sums = all_reduce(&*setup.group, vec![counts], ReduceOp::Sum, &*setup.manager)?;
            let sums = tensor::slice::<f64>(&sums[0]);
            sums.chunks(2).map(|count| 1.0 + count[0] + count[1] / 2.0).collect()
        };
        let (sources, destinations) = ranks.split_at(held.edges.len());
        if here.rank == 0 {
            let sets = vec![
                scores(name.to_owned(), held.edges.len(), &ranks),
                scores(format!("{name} sources"), held.edges.len(), sources),
                scores(format!("{name} destinations"), held.edges.len(), destinations),
            ];
            here.events.send(Event::Predicted(PredictionScores { corrected: false, sets }))?;
        }
        self.write_ranks(&held, [sources, destinations])
    }

    /// The counts of all edges among this rank's nodes, first for sources, then for destinations.
    fn counts(&self, held: &HeldEdges, rows: &SharedRows) -> Result<Tensor> {
        let mut order: Vec<usize> = (0..held.edges.len()).collect();
        order.sort_by_key(|edge| held.edges[*edge].etype);
        let mut counts = [SOURCE, DESTINATION].map(|_| vec![[0; 2]; held.edges.len()]);
        for (end, counts) in counts.iter_mut().enumerate() {
            let known = held.known(&self.own.setup.partition, 1 - end)?;
            for of_type in order.chunk_by(|a, b| held.edges[*a].etype == held.edges[*b].etype) {
                for block in of_type.chunks(BLOCK) {
                    let edges: Vec<HeldEdge> = block.iter().map(|i| held.edges[*i]).collect();
                    let found = self.count(&edges, end, rows, &known)?;
                    block.iter().zip(found).for_each(|(i, found)| counts[*i] = found);
                }
            }
        }
        let flat: Vec<f64> = counts.iter().flatten().flatten().map(|count| *count as f64).collect();
        Ok(Tensor::f_from_slice(&flat)?)
    }

    /// Compares edges of one type with all of this rank's nodes that could be at one end, except known ones.
    fn count(
        &self,
        edges: &[HeldEdge],
        end: usize,
        rows: &SharedRows,
        known: &KnownEnds,
    ) -> Result<Vec<Counts>> {
        let setup = self.own.setup;
        let (book, etype) = (setup.partition.book(), edges[0].etype);
        let fixed = rows.read(edges.iter().map(|edge| edge.ends[1 - end]))?;
        let queries =
            self.scored_by.queries_of_type(&fixed, etype, end == SOURCE)?.f_contiguous()?;
        let truth = rows.read(edges.iter().map(|edge| edge.ends[end]))?;
        let (queries, truth) = (&tensor::slice::<f32>(&queries), &tensor::slice::<f32>(&truth));
        let width = rows.width;
        let mut counts = vec![[0; 2]; edges.len()];
        let each = || queries.par_chunks(width).zip(truth.par_chunks(width));
        let candidates =
            book.node_type_range(setup.partition.part(), book.etype_ends()[etype][end]);
        for first in candidates.clone().step_by(CANDIDATES) {
            let block = rows.read(first..candidates.end.min(first + CANDIDATES as u64))?;
            let block = &tensor::slice::<f32>(&block);
            counts.par_iter_mut().zip(each()).for_each(|(counts, (query, truth))| {
                let score = inner_product(query, truth);
                for candidate in block.chunks_exact(width) {
                    let [above, same] = compare(inner_product(query, candidate), score);
                    counts[0] += above;
                    counts[1] += same;
                }
            });
        }
        // The edge itself is a known one.
        let queries = queries.chunks(width).zip(truth.chunks(width));
        for ((counts, edge), (query, truth)) in counts.iter_mut().zip(edges).zip(queries) {
            let score = inner_product(query, truth);
            for block in known.of(etype, edge.ends[1 - end]).chunks(CANDIDATES) {
                let block = rows.read(block.iter().map(|(_, _, other)| *other))?;
                let block = &tensor::slice::<f32>(&block);
                for candidate in block.chunks_exact(width) {
                    let [above, same] = compare(inner_product(query, candidate), score);
                    counts[0] -= above;
                    counts[1] -= same;
                }
            }
        }
        Ok(counts)
    }

    /// Writes this rank's edges to their places in the table's rows.
    fn write_ranks(&self, held: &HeldEdges, ranks: [&[f64]; 2]) -> Result<()> {
        let OwnPrediction { setup, here, .. } = *self.own;
        let own = held.own.clone();
        let places = [SOURCE, DESTINATION].map(|end| self.places(&held.edges[own.clone()], end));
        let [sources, destinations] = places;
        let places = [sources?, destinations?];
        let file = rows::open_rows(here, &table_rows(here.folder), RANKED_EDGE_BYTES)?;
        for block in own.clone().collect::<Vec<_>>().chunks(BLOCK) {
            let bytes: Vec<u8> = block
                .iter()
                .flat_map(|i| {
                    let places = [SOURCE, DESTINATION].map(|end| places[end][i - own.start]);
                    let ranks = [SOURCE, DESTINATION].map(|end| ranks[end][*i] as f32);
                    RankedEdge { etype: held.edges[*i].etype, places, ranks }.to_bytes()
                })
                .collect();
            file.write_rows(block[0] as u64, &bytes)?;
        }
        rows::finish(setup, file, held.edges.len() as u64)
    }

    /// The place of a node of each edge among the nodes of its type.
    fn places(&self, edges: &[HeldEdge], end: usize) -> Result<Vec<u64>> {
        let book = self.own.setup.partition.book();
        let mut found = vec![0; edges.len()];
        for rank in 0..book.num_parts() {
            let range = book.node_range(rank);
            let mut of_types = HashMap::new();
            for (edge, found) in edges.iter().zip(&mut found) {
                let node = edge.ends[end];
                if !range.contains(&node) {
                    continue;
                }
                let ntype = book.etype_ends()[edge.etype][end];
                let first = book.node_type_range(rank, ntype).start;
                let of_type = match of_types.entry(ntype) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => new.insert(places_in_type(self.own, ntype, rank)?),
                };
                *found = of_type[(node - first) as usize];
            }
        }
        Ok(found)
    }
}

/// 1 or 0: whether a score is above another, and whether it is the same. NaN counts as above.
fn compare(score: f32, other: f32) -> Counts {
    match score.partial_cmp(&other) {
        Some(Ordering::Less) => [0, 0],
        Some(Ordering::Equal) => [0, 1],
        _ => [1, 0],
    }
}

/// The sum of products, always in the same order: the same rows have the same score.
fn inner_product(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; 8];
    let (a, rest_a) = a.as_chunks::<8>();
    let (b, rest_b) = b.as_chunks::<8>();
    for (a, b) in a.iter().zip(b) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    let rest: f32 = rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

/// The metrics of some ranks of edges.
fn scores(name: String, edges: usize, ranks: &[f64]) -> SetScores {
    let mean = |value: &dyn Fn(f64) -> f64| {
        ranks.iter().map(|rank| value(*rank)).sum::<f64>() / ranks.len() as f64
    };
    let hits = |most: f64| mean(&|rank| f64::from(u8::from(rank <= most)));
    let scores = vec![
        (Metric::FilteredReciprocalRank, mean(&|rank| 1.0 / rank)),
        (Metric::HitsAt1, hits(1.0)),
        (Metric::HitsAt3, hits(3.0)),
        (Metric::HitsAt10, hits(10.0)),
    ];
    SetScores { name, nodes: edges as u64, scores }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_are_between_the_best_and_the_worst_place() {
        assert_eq!(
            [compare(1.0, 1.0), compare(2.0, 1.0), compare(0.0, 1.0)],
            [[0, 1], [1, 0], [0, 0]]
        );
        assert_eq!([compare(f32::NAN, 1.0), compare(1.0, f32::NAN)], [[1, 0], [1, 0]]);
        let of = scores("test".to_owned(), 3, &[1.0, 1.5, 12.0]).scores;
        let expected = [(1.0 + 1.0 / 1.5 + 1.0 / 12.0) / 3.0, 1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0];
        assert!(of.iter().zip(expected).all(|((_, a), b)| (a - b).abs() < 1e-12), "{of:?}");
    }

    #[test]
    fn an_edge_is_read_as_it_was_written() {
        let edge = RankedEdge { etype: 7, places: [1, u64::MAX], ranks: [1.5, 20.0] };
        assert_eq!(RankedEdge::from_bytes(&edge.to_bytes()), edge);
    }
}

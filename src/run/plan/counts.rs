//! Numbers of nodes and edges of a graph's ranks.

/// Edges from one rank's nodes to another rank's, or to its own.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Pair {
    pub(super) edges: u64,
    /// Number of distinct sources of these edges.
    pub(super) sources: u64,
    /// Number of distinct destinations of these edges.
    pub(super) destinations: u64,
}

/// One rank's part of the graph.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RankCounts {
    pub(super) nodes: u64,
    /// Counts by the rank that owns the sources.
    pub(super) pairs: Vec<Pair>,
}

impl RankCounts {
    pub(super) fn edges(&self) -> u64 {
        self.pairs.iter().map(|pair| pair.edges).sum()
    }

    /// Number of rows of other ranks that this one, rank `own`, needs.
    pub(super) fn foreign_rows(&self, own: usize) -> u64 {
        let others = self.pairs.iter().enumerate().filter(|(source, _)| *source != own);
        others.map(|(_, pair)| pair.sources).sum()
    }
}

/// All ranks with their counts multiplied by `scale`.
pub(super) fn scaled(ranks: &[RankCounts], scale: f64) -> Vec<RankCounts> {
    let nodes: Vec<u64> = ranks.iter().map(|rank| part(rank.nodes, scale).max(1)).collect();
    let scaled = ranks.iter().enumerate().map(|(own, rank)| {
        // The rounding error of one pair is carried over to the next, so that sums are kept.
        let mut totals = [0_u64; 3];
        let mut share = |which: usize, count: u64| {
            let before = totals[which];
            let after = before + count;
            totals[which] = after;
            if count == 0 { 0 } else { part(after, scale) - part(before, scale) }
        };
        let pairs = rank.pairs.iter().enumerate().map(|(source, pair)| {
            let sources = share(0, pair.sources).min(nodes[source]);
            let destinations = share(1, pair.destinations).min(nodes[own]);
            let edges = share(2, pair.edges).max(sources).max(destinations);
            // If a pair has edges, it has at least one source and one destination.
            let some = u64::from(edges > 0);
            Pair { edges, sources: sources.max(some), destinations: destinations.max(some) }
        });
        RankCounts { nodes: nodes[own], pairs: pairs.collect() }
    });
    scaled.collect()
}

fn part(count: u64, scale: f64) -> u64 {
    (count as f64 * scale).round() as u64
}

/// At most `most` of the ranks, chosen evenly by size; edges from the other ranks are divided among the chosen ones.
pub(super) fn representatives(ranks: &[RankCounts], most: usize) -> Vec<RankCounts> {
    if ranks.len() <= most {
        return ranks.to_vec();
    }
    let mut by_size: Vec<usize> = (0..ranks.len()).collect();
    by_size.sort_by_key(|rank| ranks[*rank].nodes);
    // The largest rank is among them.
    let chosen: Vec<usize> = (1..=most).map(|i| by_size[(i * ranks.len()) / most - 1]).collect();
    let shrunk = chosen.iter().enumerate().map(|(own, rank)| {
        let all = &ranks[*rank];
        let others = all.pairs.iter().enumerate().filter(|(source, _)| source != rank);
        let sum = others.fold(Pair::default(), |sum, (_, pair)| Pair {
            edges: sum.edges + pair.edges,
            sources: sum.sources + pair.sources,
            destinations: sum.destinations + pair.destinations,
        });
        let each = (most - 1) as u64;
        let share = Pair {
            edges: sum.edges / each,
            sources: sum.sources / each,
            // A destination has edges from several ranks; with fewer ranks, it is in fewer pairs.
            destinations: (sum.destinations / each).min(all.nodes),
        };
        let pairs = (0..most).map(|source| if source == own { all.pairs[*rank] } else { share });
        RankCounts { nodes: all.nodes, pairs: pairs.collect() }
    });
    shrunk.collect()
}

/// Expected number of `nodes` that are hit by `edges` random edges.
pub(super) fn hit(nodes: u64, edges: u64) -> u64 {
    let nodes = nodes as f64;
    (nodes * (1.0 - (-(edges as f64) / nodes.max(1.0)).exp())) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_keeps_sums_and_what_a_graph_needs() {
        let pair = Pair { edges: 101, sources: 33, destinations: 34 };
        let ranks: Vec<_> =
            (0..7).map(|_| RankCounts { nodes: 1000, pairs: vec![pair; 7] }).collect();
        let small = scaled(&ranks, 0.1);
        assert_eq!(small[3].nodes, 100);
        let sum = |of: fn(&Pair) -> u64| small[3].pairs.iter().map(of).sum::<u64>();
        assert_eq!((sum(|p| p.sources), sum(|p| p.edges)), (23, 71));
        assert!(small[3].pairs.iter().all(|p| p.edges >= p.sources.max(p.destinations)));
        assert_eq!(scaled(&ranks, 1.0), ranks);
    }

    #[test]
    fn every_edge_of_a_small_graph_has_two_ends() {
        for (edges, sources, destinations) in [(1, 1, 1), (3, 2, 1), (3, 1, 2), (7, 3, 5)] {
            let pair = Pair { edges, sources, destinations };
            let ranks: Vec<_> =
                (0..5).map(|_| RankCounts { nodes: 3, pairs: vec![pair; 5] }).collect();
            for scale in [0.01, 0.1, 0.25, 0.4, 0.6, 1.0] {
                for pair in scaled(&ranks, scale).iter().flat_map(|rank| &rank.pairs) {
                    let ends = [pair.sources, pair.destinations];
                    assert!(ends.iter().all(|end| (*end > 0) == (pair.edges > 0)), "{pair:?}");
                    assert!(ends.iter().all(|end| *end <= pair.edges), "{pair:?}");
                }
            }
        }
    }

    #[test]
    fn representatives_have_the_largest_rank_and_all_edges() {
        let pair = Pair { edges: 30, sources: 12, destinations: 15 };
        let ranks: Vec<_> =
            (0..9).map(|i| RankCounts { nodes: 100 + i, pairs: vec![pair; 9] }).collect();
        let few = representatives(&ranks, 4);
        assert_eq!(few.len(), 4);
        assert_eq!(few[3].nodes, 108);
        assert_eq!(few[0].edges(), 270);
    }
}

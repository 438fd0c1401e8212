//! The graph of clusters.

use crate::io::ExternalSort;
use crate::prepare::partition::adjacency::Adjacency;
use crate::prepare::partition::metis::WeightedGraph;
use crate::prepare::partition::partitioner::PartitionTask;
use crate::prepare::partition::progress::Meter;
use crate::words::error::Result;

/// Largest number of pairs of neighbouring clusters, for which METIS takes up to 350 MB. The number is fixed so that
/// the result does not depend on `--memory`.
const MAX_PAIRS: usize = 4 << 20;

/// Builds a graph with one node per cluster. Two nodes are joined if edges join their clusters; the weight is the
/// number of these edges. If there are too many pairs, a random sample stays, in which heavy pairs are more likely and
/// light ones stand for several.
pub(super) fn quotient(
    adjacency: &Adjacency,
    labels: &[u16],
    clusters: usize,
    task: &PartitionTask<'_>,
    meter: &mut Meter<'_, '_>,
) -> Result<WeightedGraph> {
    let mut sort = ExternalSort::new(task.folder, [clusters as u64; 2], task.memory / 2)?;
    let quantities = task.balance.count();
    let mut weights = vec![0; quantities * clusters];
    let mut of_node = vec![0; quantities];
    let mut reader = adjacency.read();
    for (node, &label) in labels.iter().enumerate() {
        meter.tick()?;
        let (_, edges) = reader.node()?;
        task.balance.weigh(node as u64, edges, &mut of_node);
        let sums = weights[usize::from(label) * quantities..].iter_mut().zip(&of_node);
        sums.for_each(|(sum, weight)| *sum += weight);
        while let Some(neighbour) = reader.neighbour()? {
            let other = labels[neighbour as usize];
            if other != label {
                sort.push([u64::from(label), u64::from(other)])?;
            }
        }
    }
    let mut sorted = sort.finish()?;
    let mut pairs = Pairs { kept: Vec::new(), level: 0, seed: task.seed };
    let mut next = sorted.next()?;
    while let Some([from, to]) = next {
        let mut weight = 0u32;
        while next == Some([from, to]) {
            weight = weight.saturating_add(1);
            next = sorted.next()?;
        }
        pairs.push(Pair { from: from as u16, to: to as u16, weight });
    }
    Ok(pairs.graph(&weights, quantities))
}

#[derive(Clone, Copy, Debug)]
struct Pair {
    from: u16,
    to: u16,
    weight: u32,
}

/// A sample of pairs, with probability min(1, w / 2^level) for a pair of weight w.
struct Pairs {
    kept: Vec<Pair>,
    level: u32,
    seed: u64,
}

impl Pairs {
    fn push(&mut self, pair: Pair) {
        if !self.keeps(pair) {
            return;
        }
        self.kept.push(pair);
        while self.kept.len() > MAX_PAIRS {
            self.level += 1;
            let kept = std::mem::take(&mut self.kept);
            self.kept = kept.into_iter().filter(|&pair| self.keeps(pair)).collect();
        }
    }

    /// Whether the sample has a pair; the answer is the same in both directions.
    fn keeps(&self, pair: Pair) -> bool {
        let (low, high) = (pair.from.min(pair.to), pair.from.max(pair.to));
        let mut hash = (u64::from(low) << 16 | u64::from(high)) ^ self.seed.rotate_left(32);
        // MurmurHash3's finaliser.
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
        hash ^= hash >> 33;
        u128::from(pair.weight) << 32 > u128::from(hash as u32) << self.level
    }

    fn graph(self, node_weights: &[u64], quantities: usize) -> WeightedGraph {
        let least = 1u32.checked_shl(self.level).unwrap_or(u32::MAX);
        let mut graph = WeightedGraph::new(quantities);
        let mut pairs = self.kept.into_iter().peekable();
        for (cluster, weights) in node_weights.chunks(quantities).enumerate() {
            while let Some(pair) = pairs.next_if(|pair| usize::from(pair.from) == cluster) {
                graph.neighbours.push(i32::from(pair.to));
                graph.weights.push(pair.weight.max(least));
            }
            graph.end_node(weights);
        }
        graph
    }
}

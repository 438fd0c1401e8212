//! Moving of nodes to the partitions of most of their neighbours.

use super::counts::LabelCounts;
use crate::error::Result;
use crate::graph::Bitmap;
use crate::prepare::partition::adjacency::Adjacency;
use crate::prepare::partition::loads::{CONSTRAINTS, Loads};
use crate::prepare::partition::progress::Meter;

/// Largest number of passes over the edges.
pub(super) const PASSES: u64 = 12;

/// A pass that moves a smaller fraction of the nodes than 1 in this many is the last one.
const SETTLED: u64 = 2000;

/// Moves each node to the partition that holds most of its neighbours and has room, pass after pass: restreaming (Nishimura and
/// Ugander 2013) from an assignment that is good already. Nodes also leave partitions that are too large.
pub(super) fn refine(
    adjacency: &Adjacency,
    train: Option<&Bitmap>,
    parts: &mut [u16],
    num_parts: usize,
    meter: &mut Meter<'_, '_>,
) -> Result<()> {
    let weights = |node: usize, edges: u64| {
        [1, edges, u64::from(train.is_some_and(|train| train.contains(node as u64)))]
    };
    let mut loads = starting_loads(adjacency, parts, num_parts, &weights)?;
    let mut counts = LabelCounts::new(num_parts);
    for _ in 0..PASSES {
        let mut reader = adjacency.read();
        let mut moved = 0;
        for node in 0..parts.len() {
            meter.tick()?;
            let (_, edges) = reader.node()?;
            while let Some(neighbour) = reader.neighbour()? {
                counts.add(parts[neighbour as usize]);
            }
            let (own, weights) = (parts[node], weights(node, edges));
            let over = loads.is_over(usize::from(own));
            let fits = |part: u16| part != own && loads.fits(usize::from(part), weights);
            let best = counts.best(fits).filter(|&best| over || counts.get(best) > counts.get(own));
            let target = match best {
                None if over => loads.lightest(weights).map(|part| part as u16),
                best => best,
            };
            counts.clear();
            if let Some(target) = target.filter(|&target| target != own) {
                loads.remove(usize::from(own), weights);
                loads.add(usize::from(target), weights);
                parts[node] = target;
                moved += 1;
            }
        }
        if moved < adjacency.num_nodes.div_ceil(SETTLED) {
            break;
        }
    }
    Ok(())
}

fn starting_loads(
    adjacency: &Adjacency,
    parts: &[u16],
    num_parts: usize,
    weights: &impl Fn(usize, u64) -> [u64; CONSTRAINTS],
) -> Result<Loads> {
    let mut sums = vec![[0; CONSTRAINTS]; num_parts];
    let mut heaviest = [0; CONSTRAINTS];
    let mut reader = adjacency.read();
    for (node, &part) in parts.iter().enumerate() {
        let (_, edges) = reader.node()?;
        let weights = weights(node, edges);
        for at in 0..CONSTRAINTS {
            sums[usize::from(part)][at] += weights[at];
            heaviest[at] = weights[at].max(heaviest[at]);
        }
    }
    let total = |at| sums.iter().map(|sums: &[u64; CONSTRAINTS]| sums[at]).sum();
    let mut loads = Loads::new(num_parts, std::array::from_fn(total), heaviest);
    for (part, sums) in sums.into_iter().enumerate() {
        loads.add(part, sums);
    }
    Ok(loads)
}

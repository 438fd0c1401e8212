//! Moving nodes to the partition of most of their neighbours.

use super::counts::LabelCounts;
use crate::prepare::partition::adjacency::Adjacency;
use crate::prepare::partition::balance::Balance;
use crate::prepare::partition::loads::{Loads, TOLERANCE};
use crate::prepare::partition::progress::Meter;
use crate::words::error::Result;

/// Largest number of passes over the edges.
pub(super) const PASSES: u64 = 12;

/// With `loosely`, number of first passes in which partitions may exceed their final limit, and the limit of the first
/// of them, in multiples of the mean; it shrinks from pass to pass.
const LOOSE_PASSES: u64 = 6;
const LOOSENESS: f64 = 0.2;

/// A pass that moves less than 1 in this many nodes is the last.
const SETTLED: u64 = 2000;

/// Moves each node to the partition that has room and most of its neighbours, pass after pass: restreaming (Nishimura
/// and Ugander 2013) from an assignment that is already good. Nodes also leave partitions that are too large. With
/// `loosely` they do so only gradually: strict limits would keep communities apart that have yet to find a partition.
pub(super) fn refine(
    adjacency: &Adjacency,
    balance: &Balance<'_>,
    parts: &mut [u16],
    num_parts: usize,
    loosely: bool,
    meter: &mut Meter<'_, '_>,
) -> Result<()> {
    let mut loads = starting_loads(adjacency, parts, num_parts, balance)?;
    let mut weights = vec![0; balance.count()];
    let mut counts = LabelCounts::new(num_parts);
    for pass in 0..PASSES {
        let loose = if loosely { LOOSE_PASSES.saturating_sub(pass) } else { 0 };
        loads.tolerate(TOLERANCE + LOOSENESS * loose as f64 / LOOSE_PASSES as f64);
        let mut reader = adjacency.read();
        let mut moved = 0;
        for node in 0..parts.len() {
            meter.tick()?;
            let (_, edges) = reader.node()?;
            while let Some(neighbour) = reader.neighbour()? {
                counts.add(parts[neighbour as usize]);
            }
            let own = parts[node];
            balance.weigh(node as u64, edges, &mut weights);
            let over = loads.is_over(usize::from(own), &weights);
            let fits = |part: u16| part != own && loads.fits(usize::from(part), &weights);
            let best = counts.best(fits).filter(|&best| over || counts.get(best) > counts.get(own));
            let target = match best {
                None if over => loads.lightest(&weights).map(|part| part as u16),
                best => best,
            };
            counts.clear();
            if let Some(target) = target.filter(|&target| target != own) {
                loads.remove(usize::from(own), &weights);
                loads.add(usize::from(target), &weights);
                parts[node] = target;
                moved += 1;
            }
        }
        if loose == 0 && moved < adjacency.num_nodes.div_ceil(SETTLED) {
            break;
        }
    }
    Ok(())
}

fn starting_loads(
    adjacency: &Adjacency,
    parts: &[u16],
    num_parts: usize,
    balance: &Balance<'_>,
) -> Result<Loads> {
    let count = balance.count();
    let mut sums = vec![0; num_parts * count];
    let (mut totals, mut heaviest, mut weights) = (vec![0; count], vec![0; count], vec![0; count]);
    let mut reader = adjacency.read();
    for (node, &part) in parts.iter().enumerate() {
        let (_, edges) = reader.node()?;
        balance.weigh(node as u64, edges, &mut weights);
        let own = &mut sums[usize::from(part) * count..][..count];
        for at in 0..count {
            own[at] += weights[at];
            totals[at] += weights[at];
            heaviest[at] = weights[at].max(heaviest[at]);
        }
    }
    let mut loads = Loads::new(num_parts, &totals, &heaviest, balance.num_classes());
    for (part, sums) in sums.chunks(count).enumerate() {
        loads.add(part, sums);
    }
    Ok(loads)
}

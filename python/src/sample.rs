//! In-neighbours of nodes, drawn at random, and batches of seeds that share neighbours.

use std::path::PathBuf;

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use sar::prepare::partition::SeedGroups;

use crate::errors::exception;
use crate::memory::Place;

/// The in-edges of a partition's nodes: the id of the first node, where each node's edges begin, their sources and their ids (int64), and
/// the probabilities with which they are drawn (float32), unless all are alike.
#[derive(FromPyObject)]
pub(crate) struct InEdges {
    #[pyo3(item)]
    first: i64,
    #[pyo3(item)]
    begins: Place,
    #[pyo3(item)]
    sources: Place,
    #[pyo3(item)]
    ids: Place,
    #[pyo3(item)]
    weights: Option<Place>,
}

/// Draws up to `fanout` in-edges (all, if not given) of each of some nodes; the same ones for the same `seed`. Gives three int64 arrays:
/// how many edges each node got, their sources and their ids.
#[pyfunction]
#[pyo3(signature = (nodes, partitions, fanout, replace, seed))]
pub(crate) fn sample(
    py: Python<'_>,
    nodes: Place,
    partitions: Vec<InEdges>,
    fanout: Option<usize>,
    replace: bool,
    seed: u64,
) -> PyResult<[Bound<'_, PyByteArray>; 3]> {
    let (mut counts, mut sources, mut ids) = (Vec::new(), Vec::new(), Vec::new());
    let mut chosen = Vec::new();
    for &node in nodes.slice::<i64>() {
        let unknown = || PyIndexError::new_err(format!("there is no node {node}"));
        let part = partitions.partition_point(|part| part.first <= node);
        let part = &partitions[part.checked_sub(1).ok_or_else(unknown)?];
        let begins = part.begins.slice::<i64>();
        let at = (node - part.first) as usize;
        let (Some(&begin), Some(&end)) = (begins.get(at), begins.get(at + 1)) else {
            return Err(unknown());
        };
        let edges = begin as usize..end as usize;
        let from = &part.sources.slice::<i64>()[edges.clone()];
        let numbers = &part.ids.slice::<i64>()[edges.clone()];
        let mut draws = Draws(mix(seed ^ mix(node as u64)));
        chosen.clear();
        match part.weights {
            Some(weights) => {
                let weights = &weights.slice::<f32>()[edges];
                choose_by_weight(&mut draws, fanout, replace, weights, &mut chosen);
            }
            None => choose(&mut draws, fanout, replace, from.len(), &mut chosen),
        }
        chosen.sort_unstable();
        sources.extend(chosen.iter().map(|&i| from[i]));
        ids.extend(chosen.iter().map(|&i| numbers[i]));
        counts.push(chosen.len() as i64);
    }
    Ok([&counts, &sources, &ids].map(|values| PyByteArray::new(py, bytemuck::cast_slice(values))))
}

/// Divides seeds into `num_batches` batches that share neighbours. `counts` and `sources` are the in-edges of `nodes`, those of the seeds'
/// partitions. Gives the sizes of the batches and their seeds, int64; `cache` is a file that holds them from one run to the next.
#[pyfunction]
#[pyo3(signature = (nodes, counts, sources, seeds, batch_size, num_batches, cache))]
#[allow(clippy::too_many_arguments)] // called once, from Python
pub(crate) fn group_seeds(
    py: Python<'_>,
    nodes: Place,
    counts: Place,
    sources: Place,
    seeds: Place,
    batch_size: usize,
    num_batches: usize,
    cache: Option<PathBuf>,
) -> PyResult<[Bound<'_, PyByteArray>; 2]> {
    let counts: Vec<u32> = counts.slice::<i64>().iter().map(|n| *n as u32).collect();
    let [nodes, sources, seeds] = [nodes, sources, seeds].map(Place::slice::<u64>);
    let groups = SeedGroups { seeds, batch_size, num_batches, seed: 0, memory: u64::MAX };
    let batches = groups.batches(nodes, &counts, sources, cache.as_deref()).map_err(exception)?;
    let sizes: Vec<i64> = batches.iter().map(|batch| batch.len() as i64).collect();
    let seeds = batches.concat();
    Ok([bytemuck::cast_slice(&sizes), bytemuck::cast_slice(&seeds)]
        .map(|bytes| PyByteArray::new(py, bytes)))
}

/// Chooses `count` of `len` places, or all: without replacement as in Floyd, "A sample of brilliance", 1987.
fn choose(
    draws: &mut Draws,
    count: Option<usize>,
    replace: bool,
    len: usize,
    chosen: &mut Vec<usize>,
) {
    let Some(count) = count.filter(|count| len > 0 && (replace || *count < len)) else {
        chosen.extend(0..len);
        return;
    };
    if replace {
        chosen.extend((0..count).map(|_| draws.below(len)));
        return;
    }
    for last in len - count..len {
        let place = draws.below(last + 1);
        let place = if chosen.contains(&place) { last } else { place };
        chosen.push(place);
    }
}

/// Chooses `count` places, or all, with probabilities in proportion to their weights; never one whose weight is not above 0. Without
/// replacement by the order of exponential variables (Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006).
fn choose_by_weight(
    draws: &mut Draws,
    count: Option<usize>,
    replace: bool,
    weights: &[f32],
    chosen: &mut Vec<usize>,
) {
    let possible = || (0..weights.len()).filter(|i| weights[*i] > 0.0);
    let len = possible().count();
    let Some(count) = count.filter(|count| len > 0 && (replace || *count < len)) else {
        chosen.extend(possible());
        return;
    };
    if replace {
        let sums = possible().scan(0.0, |sum, i| {
            *sum += f64::from(weights[i]);
            Some((*sum, i))
        });
        let sums: Vec<(f64, usize)> = sums.collect();
        let total = sums[len - 1].0;
        chosen.extend((0..count).map(|_| {
            // Below the total even when the product is rounded up to it.
            let target = (draws.unit() * total).min(total.next_down());
            sums[sums.partition_point(|(sum, _)| *sum <= target)].1
        }));
        return;
    }
    let arrivals = possible().map(|i| (-(1.0 - draws.unit()).ln() / f64::from(weights[i]), i));
    let mut arrivals: Vec<(f64, usize)> = arrivals.collect();
    arrivals.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    chosen.extend(arrivals.into_iter().take(count).map(|(_, i)| i));
}

/// Random numbers (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// A number in [0, 1) with 53 random bits.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * 2f64.powi(-53)
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

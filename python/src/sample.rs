//! In-neighbours of nodes, drawn at random.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

use crate::memory::{Place, memory};

/// The in-edges of a partition's nodes: the id of the first node, where each node's edges begin, their sources and their ids (int64).
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
}

/// Draws up to `fanout` in-edges (all, if not given) of each of some nodes, without replacement; the same ones for the same `seed`. Gives three
/// int64 arrays: how many edges each node got, their sources and their ids.
#[pyfunction]
#[pyo3(signature = (nodes, partitions, fanout, seed))]
pub(crate) fn sample(
    py: Python<'_>,
    nodes: Place,
    partitions: Vec<InEdges>,
    fanout: Option<usize>,
    seed: u64,
) -> PyResult<[Bound<'_, PyByteArray>; 3]> {
    let (mut counts, mut sources, mut ids) = (Vec::new(), Vec::new(), Vec::new());
    let mut chosen = Vec::new();
    for &node in memory(nodes).slice::<i64>() {
        let unknown = || PyIndexError::new_err(format!("there is no node {node}"));
        let part = partitions.partition_point(|part| part.first <= node);
        let part = &partitions[part.checked_sub(1).ok_or_else(unknown)?];
        let begins = memory(part.begins).slice::<i64>();
        let at = (node - part.first) as usize;
        let (Some(&begin), Some(&end)) = (begins.get(at), begins.get(at + 1)) else {
            return Err(unknown());
        };
        let edges = begin as usize..end as usize;
        let from = &memory(part.sources).slice::<i64>()[edges.clone()];
        let numbers = &memory(part.ids).slice::<i64>()[edges];
        match fanout.filter(|fanout| *fanout < from.len()) {
            None => {
                sources.extend_from_slice(from);
                ids.extend_from_slice(numbers);
            }
            Some(fanout) => {
                choose(&mut Draws(mix(seed ^ mix(node as u64))), fanout, from.len(), &mut chosen);
                sources.extend(chosen.iter().map(|&i| from[i]));
                ids.extend(chosen.iter().map(|&i| numbers[i]));
            }
        }
        counts.push(fanout.map_or(from.len(), |fanout| fanout.min(from.len())) as i64);
    }
    Ok([&counts, &sources, &ids].map(|values| PyByteArray::new(py, bytemuck::cast_slice(values))))
}

/// Chooses `count` of `len` places (Floyd, "A sample of brilliance", 1987), ascending.
fn choose(draws: &mut Draws, count: usize, len: usize, chosen: &mut Vec<usize>) {
    chosen.clear();
    for last in len - count..len {
        let place = ((u128::from(draws.next()) * (last as u128 + 1)) >> 64) as usize;
        let place = if chosen.contains(&place) { last } else { place };
        chosen.push(place);
    }
    chosen.sort_unstable();
}

/// Random numbers (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

//! In-neighbours of nodes, drawn at random.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

use crate::memory::{Place, memory};

/// The in-edges of a partition's nodes: the id of the first node, where each node's edges begin (int64), and their sources (int64).
#[derive(FromPyObject)]
pub(crate) struct InEdges(i64, Place, Place);

/// Draws up to `fanout` in-edges (all, if not given) of each of some nodes, without replacement; the same ones for the same `seed`. Gives two
/// int64 arrays: how many edges each node got, and their sources.
#[pyfunction]
#[pyo3(signature = (nodes, partitions, fanout, seed))]
pub(crate) fn sample(
    py: Python<'_>,
    nodes: Place,
    partitions: Vec<InEdges>,
    fanout: Option<usize>,
    seed: u64,
) -> PyResult<(Bound<'_, PyByteArray>, Bound<'_, PyByteArray>)> {
    let (mut counts, mut sources, mut chosen) = (Vec::new(), Vec::new(), Vec::new());
    for &node in memory(nodes).slice::<i64>() {
        let unknown = || PyIndexError::new_err(format!("there is no node {node}"));
        let part = partitions.partition_point(|InEdges(first, ..)| *first <= node);
        let InEdges(first, begins, ends) = &partitions[part.checked_sub(1).ok_or_else(unknown)?];
        let begins = memory(*begins).slice::<i64>();
        let at = (node - first) as usize;
        let (Some(&begin), Some(&end)) = (begins.get(at), begins.get(at + 1)) else {
            return Err(unknown());
        };
        let edges = &memory(*ends).slice::<i64>()[begin as usize..end as usize];
        match fanout.filter(|fanout| *fanout < edges.len()) {
            None => sources.extend_from_slice(edges),
            Some(fanout) => {
                choose(&mut Draws(mix(seed ^ mix(node as u64))), fanout, edges.len(), &mut chosen);
                sources.extend(chosen.iter().map(|&i| edges[i]));
            }
        }
        counts.push(fanout.map_or(edges.len(), |fanout| fanout.min(edges.len())) as i64);
    }
    let bytes = |values: &[i64]| PyByteArray::new(py, bytemuck::cast_slice(values));
    Ok((bytes(&counts), bytes(&sources)))
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

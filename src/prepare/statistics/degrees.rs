//! In-degrees.

use std::collections::BTreeMap;

use serde::Serialize;

/// Distribution of in-degrees.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Degrees {
    /// Mean over all nodes.
    pub mean: f64,
    /// For each percentage, the degree that this share of nodes does not exceed: 0 is the smallest degree, 100 the
    /// largest.
    pub percentiles: BTreeMap<u8, u64>,
    /// Number of nodes without in-edges.
    pub without_in_edges: u64,
    /// Number of nodes without any edges.
    pub isolated: u64,
}

/// Percentiles shown.
const PERCENT: [u8; 7] = [0, 25, 50, 75, 90, 99, 100];

/// Number of nodes by degree. There are few different degrees: at most about the square root of twice the number of
/// edges.
#[derive(Debug, Default)]
pub(super) struct DegreeCounts(BTreeMap<u64, u64>);

impl DegreeCounts {
    pub(super) fn add(&mut self, degree: u64) {
        *self.0.entry(degree).or_default() += 1;
    }

    pub(super) fn finish(self, isolated: u64) -> Degrees {
        let nodes: u64 = self.0.values().sum();
        let edges: u64 = self.0.iter().map(|(degree, nodes)| degree * nodes).sum();
        let at = |percent: u8| {
            let rank = (u128::from(nodes) * u128::from(percent)).div_ceil(100).max(1) as u64;
            let mut seen = 0;
            let found = self.0.iter().find(|(_, nodes)| {
                seen += **nodes;
                seen >= rank
            });
            found.map_or(0, |(degree, _)| *degree)
        };
        Degrees {
            mean: edges as f64 / nodes.max(1) as f64,
            percentiles: PERCENT.into_iter().map(|percent| (percent, at(percent))).collect(),
            without_in_edges: self.0.get(&0).copied().unwrap_or(0),
            isolated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_degrees_of_nodes() {
        let mut counts = DegreeCounts::default();
        (0..100).for_each(|degree| counts.add(degree));
        let degrees = counts.finish(1);
        let percentiles: Vec<u64> = degrees.percentiles.into_values().collect();
        assert_eq!(percentiles, [0, 24, 49, 74, 89, 98, 99]);
        assert!(DegreeCounts::default().finish(0).mean.abs() < f64::EPSILON);
    }
}

//! The quantities that are balanced over partitions: nodes, edges, training nodes.

/// Number of quantities that are balanced.
pub(super) const CONSTRAINTS: usize = 3;

/// Largest load of a partition, in multiples of the mean.
pub(super) const TOLERANCE: f64 = 1.05;

/// The loads of all partitions.
#[derive(Clone, Debug)]
pub(super) struct Loads {
    loads: Vec<[u64; CONSTRAINTS]>,
    limits: [u64; CONSTRAINTS],
}

impl Loads {
    /// Empty partitions that will share the total; the heaviest single nodes fit in any case.
    pub(super) fn new(
        num_parts: usize,
        totals: [u64; CONSTRAINTS],
        heaviest: [u64; CONSTRAINTS],
    ) -> Self {
        let limit = |at: usize| {
            let mean = totals[at] as f64 / num_parts as f64;
            ((mean * TOLERANCE).ceil() as u64).max(heaviest[at])
        };
        Loads { loads: vec![[0; CONSTRAINTS]; num_parts], limits: std::array::from_fn(limit) }
    }

    /// Adds a node to a partition.
    #[inline]
    pub(super) fn add(&mut self, part: usize, weights: [u64; CONSTRAINTS]) {
        self.loads[part].iter_mut().zip(weights).for_each(|(load, weight)| *load += weight);
    }

    /// Removes a node from a partition.
    #[inline]
    pub(super) fn remove(&mut self, part: usize, weights: [u64; CONSTRAINTS]) {
        self.loads[part].iter_mut().zip(weights).for_each(|(load, weight)| *load -= weight);
    }

    /// Whether a node fits into a partition.
    #[inline]
    pub(super) fn fits(&self, part: usize, weights: [u64; CONSTRAINTS]) -> bool {
        let loads = self.loads[part].iter().zip(weights).zip(self.limits);
        loads.into_iter().all(|((load, weight), limit)| weight == 0 || load + weight <= limit)
    }

    /// Whether a partition has more than it may.
    #[inline]
    pub(super) fn is_over(&self, part: usize) -> bool {
        self.loads[part].iter().zip(self.limits).any(|(load, limit)| *load > limit)
    }

    /// The partition with the fewest nodes among those into which a node fits.
    pub(super) fn lightest(&self, weights: [u64; CONSTRAINTS]) -> Option<usize> {
        let fitting = (0..self.loads.len()).filter(|&part| self.fits(part, weights));
        fitting.min_by_key(|&part| self.loads[part][0])
    }
}

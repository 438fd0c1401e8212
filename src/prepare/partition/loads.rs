//! Loads of partitions.

/// Largest load of a partition, in multiples of the mean.
pub(super) const TOLERANCE: f64 = 1.05;

/// Loads of all partitions in each balanced quantity.
#[derive(Clone, Debug)]
pub(super) struct Loads {
    /// One list per partition, back to back.
    values: Vec<u64>,
    means: Vec<f64>,
    /// Weight of the heaviest single node, which fits in any case.
    heaviest: Vec<u64>,
    limits: Vec<u64>,
    /// Number of leading quantities that count nodes.
    num_classes: usize,
}

impl Loads {
    /// Empty partitions that will share the totals; the heaviest single nodes fit in any case.
    pub(super) fn new(
        num_parts: usize,
        totals: &[u64],
        heaviest: &[u64],
        num_classes: usize,
    ) -> Self {
        let mut loads = Loads {
            values: vec![0; num_parts * totals.len()],
            means: totals.iter().map(|total| *total as f64 / num_parts as f64).collect(),
            heaviest: heaviest.to_vec(),
            limits: vec![0; totals.len()],
            num_classes,
        };
        loads.tolerate(TOLERANCE);
        loads
    }

    /// Sets the largest load of a partition, in multiples of the mean.
    pub(super) fn tolerate(&mut self, tolerance: f64) {
        for ((limit, mean), heaviest) in self.limits.iter_mut().zip(&self.means).zip(&self.heaviest)
        {
            *limit = ((mean * tolerance).ceil() as u64).max(*heaviest);
        }
    }

    #[inline]
    fn of(&self, part: usize) -> &[u64] {
        &self.values[part * self.limits.len()..][..self.limits.len()]
    }

    #[inline]
    fn of_mut(&mut self, part: usize) -> &mut [u64] {
        let count = self.limits.len();
        &mut self.values[part * count..][..count]
    }

    /// Adds a node to a partition.
    #[inline]
    pub(super) fn add(&mut self, part: usize, weights: &[u64]) {
        self.of_mut(part).iter_mut().zip(weights).for_each(|(load, weight)| *load += weight);
    }

    /// Removes a node from a partition.
    #[inline]
    pub(super) fn remove(&mut self, part: usize, weights: &[u64]) {
        self.of_mut(part).iter_mut().zip(weights).for_each(|(load, weight)| *load -= weight);
    }

    /// Whether a node fits into a partition.
    #[inline]
    pub(super) fn fits(&self, part: usize, weights: &[u64]) -> bool {
        let mut loads = self.of(part).iter().zip(weights).zip(&self.limits);
        loads.all(|((load, weight), limit)| *weight == 0 || load + weight <= *limit)
    }

    /// Whether a partition exceeds its limit in a quantity that the node weighs in.
    #[inline]
    pub(super) fn is_over(&self, part: usize, weights: &[u64]) -> bool {
        let mut loads = self.of(part).iter().zip(weights).zip(&self.limits);
        loads.any(|((load, weight), limit)| *weight > 0 && load > limit)
    }

    /// The partition with the fewest nodes among those with room for a node.
    pub(super) fn lightest(&self, weights: &[u64]) -> Option<usize> {
        let parts = self.values.len() / self.limits.len();
        let fitting = (0..parts).filter(|&part| self.fits(part, weights));
        fitting.min_by_key(|&part| self.of(part)[..self.num_classes].iter().sum::<u64>())
    }
}

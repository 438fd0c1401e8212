//! Means and deviations of numbers.

/// Count, mean and spread of the numbers so far (Welford 1962).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moments {
    pub(super) count: u64,
    pub(super) mean: f64,
    squares: f64,
}

impl Moments {
    pub(super) fn add(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
    }

    /// The standard deviation.
    pub(super) fn deviation(&self) -> f64 {
        (self.squares / self.count.max(1) as f64).sqrt()
    }

    /// Shift and unit that standardise a column. A column with a single value becomes 0 everywhere.
    pub(super) fn scale(&self) -> [f64; 2] {
        let unit = self.deviation();
        [self.mean, if unit > 0.0 { unit } else { 1.0 }]
    }
}

//! Columns that number the rows.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// The values of a column, as far as they tell whether each row has a number of its own.
#[derive(Debug, Default)]
pub(super) struct RowNumbers {
    count: u64,
    /// Sum of the values' hashes.
    sum: u64,
    /// Whether a value is not a number of a row.
    is_broken: bool,
}

impl RowNumbers {
    /// Adds the value of a row.
    pub(super) fn add(&mut self, value: Option<f64>) {
        let number = value.filter(|number| number.fract() == 0.0 && *number >= 0.0);
        self.is_broken |= number.is_none();
        self.count += 1;
        self.sum = self.sum.wrapping_add(hash(number.unwrap_or(0.0) as u64));
    }

    /// Whether the values are 0, 1, 2 and so on, or 1, 2, 3, in any order.
    pub(super) fn are_all(&self) -> bool {
        let sum = |first: u64| (first..first + self.count).map(hash).fold(0, u64::wrapping_add);
        self.count > 1 && !self.is_broken && [0, 1].into_iter().any(|first| sum(first) == self.sum)
    }
}

fn hash(number: u64) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_rows_are_known_in_any_order() {
        let are_all = |values: &[f64]| {
            let mut numbers = RowNumbers::default();
            for value in values {
                numbers.add(Some(*value));
            }
            numbers.are_all()
        };
        assert!(are_all(&[2.0, 0.0, 1.0]) && are_all(&[1.0, 3.0, 2.0]));
        for other in [&[0.0][..], &[0.0, 1.0, 1.0], &[2.0, 3.0], &[0.5, 1.0], &[-1.0, 0.0]] {
            assert!(!are_all(other), "{other:?}");
        }
    }
}

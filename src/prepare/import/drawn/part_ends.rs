//! Division of keys into parts by shares, in bounded memory.

use crate::prepare::import::files::SplitShares;
use crate::words::error::Result;

/// Number of bits of a key that are counted in one pass.
const BITS: u32 = 16;

/// A source of keys: calls its argument with the key of each row, or `None` for a row without a key.
pub(super) type Keys<'a> = dyn FnMut(&mut dyn FnMut(Option<u64>) -> Result<()>) -> Result<()> + 'a;

/// Keys at which parts end: a row belongs to the first part whose end is above its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PartEnds([u128; 3]);

impl PartEnds {
    /// Finds the ends of parts whose sizes are as close to `shares` as possible, because equal keys stay together.
    /// Reads the keys several times.
    pub(super) fn find(keys: &mut Keys<'_>, shares: SplitShares) -> Result<Self> {
        let mut count = 0;
        keys(&mut |key| {
            count += u64::from(key.is_some());
            Ok(())
        })?;
        let SplitShares { train, val, test } = shares;
        let mut ends = [0; 3];
        for (end, share) in ends.iter_mut().zip([train, train + val, train + val + test]) {
            let due = ((count as f64 * share).round() as u64).min(count);
            *end = end_after(keys, count, due)?;
        }
        Ok(PartEnds(ends))
    }

    pub(super) fn part(self, key: u64) -> Option<usize> {
        self.0.iter().position(|end| u128::from(key) < *end)
    }
}

/// End of the smallest `due` of `count` keys, or of slightly more or fewer if several are equal there.
fn end_after(keys: &mut Keys<'_>, count: u64, due: u64) -> Result<u128> {
    if due == count {
        return Ok(1 << u64::BITS);
    }
    // Upper bits of the key after the smallest `due` keys, and number of keys below them.
    let (mut known, mut below) = (0u64, 0u64);
    let mut equal = 0;
    for shift in (0..u64::BITS).step_by(BITS as usize).rev() {
        let mut counts = vec![0u64; 1 << BITS];
        keys(&mut |key| {
            let key = key.map(|key| key >> shift).filter(|key| key >> BITS == known);
            if let Some(key) = key {
                counts[key as usize & ((1 << BITS) - 1)] += 1;
            }
            Ok(())
        })?;
        for (digit, found) in (0..).zip(counts) {
            if below + found > due {
                (known, equal) = (known << BITS | digit, found);
                break;
            }
            below += found;
        }
    }
    let fits_better_with = below + equal - due < due - below;
    Ok(u128::from(known) + u128::from(fits_better_with))
}

/// A key that orders as a number does.
pub(super) fn key_of(number: f64) -> Option<u64> {
    let bits = (number + 0.0).to_bits();
    let is_negative = bits >> (u64::BITS - 1) == 1;
    (!number.is_nan()).then_some(if is_negative { !bits } else { bits | 1 << (u64::BITS - 1) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sizes(values: &[f64], shares: SplitShares) -> [usize; 3] {
        let mut keys = |take: &mut dyn FnMut(Option<u64>) -> Result<()>| {
            values.iter().try_for_each(|value| take(key_of(*value)))
        };
        let ends = PartEnds::find(&mut keys, shares).unwrap();
        let mut sizes = [0; 3];
        for part in values.iter().filter_map(|value| ends.part(key_of(*value)?)) {
            sizes[part] += 1;
        }
        sizes
    }

    proptest! {
        #[test]
        fn parts_follow_the_order_and_have_their_sizes(
            mut values in prop::collection::vec(-1e3f64..1e3, 4..200)
        ) {
            values.sort_by(f64::total_cmp);
            values.dedup();
            let due = |share: f64| (values.len() as f64 * share).round() as usize;
            let shares = SplitShares { train: 0.5, val: 0.25, test: 0.125 };
            let ends = [due(0.5), due(0.75), due(0.875)];
            prop_assert_eq!(sizes(&values, shares), [ends[0], ends[1] - ends[0], ends[2] - ends[1]]);
        }

        #[test]
        fn keys_order_as_numbers(a: f64, b: f64) {
            prop_assume!(!a.is_nan() && !b.is_nan());
            prop_assert_eq!(key_of(a).cmp(&key_of(b)), a.partial_cmp(&b).unwrap());
        }
    }

    #[test]
    fn equal_values_stay_together() {
        // The years of a citation graph: 54 % before 2018, 18 % in 2018.
        let years = [(2017.0, 54), (2018.0, 18), (2019.0, 28)];
        let values: Vec<f64> = years.iter().flat_map(|(year, count)| vec![*year; *count]).collect();
        assert_eq!(sizes(&values, SplitShares { train: 0.6, val: 0.2, test: 0.2 }), [54, 18, 28]);
        assert_eq!(key_of(-0.0), key_of(0.0));
    }
}

//! Sets of small integers, one bit each.

const BITS: u64 = 64;
/// Number of words per counted block.
const BLOCK: usize = 8;

/// A subset of `0..len`.
#[derive(Clone, Debug)]
pub(crate) struct Bitmap {
    words: Vec<u64>,
    len: u64,
}

impl Bitmap {
    /// Creates an empty set.
    pub(crate) fn new(len: u64) -> Self {
        Bitmap { words: vec![0; len.div_ceil(BITS) as usize], len }
    }

    /// Adds a member. Returns false if it is a member already or out of range.
    pub(crate) fn insert(&mut self, index: u64) -> bool {
        if index >= self.len {
            return false;
        }
        let (word, bit) = (&mut self.words[(index / BITS) as usize], 1 << (index % BITS));
        let fresh = *word & bit == 0;
        *word |= bit;
        fresh
    }

    /// Whether `index` is a member.
    pub(crate) fn contains(&self, index: u64) -> bool {
        index < self.len && self.words[(index / BITS) as usize] >> (index % BITS) & 1 == 1
    }
}

/// A subset that also knows how many members lie below a member.
#[derive(Clone, Debug)]
pub(crate) struct RankedBitmap {
    set: Bitmap,
    /// Number of members before each block of words.
    before: Vec<u64>,
}

impl RankedBitmap {
    pub(crate) fn new(set: Bitmap) -> Self {
        let mut before = Vec::with_capacity(set.words.len().div_ceil(BLOCK));
        let mut count = 0;
        for block in set.words.chunks(BLOCK) {
            before.push(count);
            count += ones(block);
        }
        RankedBitmap { set, before }
    }

    /// The number of members.
    pub(crate) fn len(&self) -> u64 {
        let last = self.before.len().saturating_sub(1);
        self.before.last().map_or(0, |before| before + ones(&self.set.words[last * BLOCK..]))
    }

    /// The members in ascending order.
    pub(crate) fn members(&self) -> impl Iterator<Item = u64> {
        self.set.words.iter().enumerate().flat_map(|(at, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| u64::from(left.trailing_zeros()))?;
                left &= left - 1;
                Some(at as u64 * BITS + bit)
            })
        })
    }

    /// The number of members below `index`, if `index` is a member.
    pub(crate) fn rank(&self, index: u64) -> Option<u64> {
        if !self.set.contains(index) {
            return None;
        }
        let word = (index / BITS) as usize;
        let block = word / BLOCK;
        let below = self.set.words[word] & ((1 << (index % BITS)) - 1);
        let whole = &self.set.words[block * BLOCK..word];
        Some(self.before[block] + ones(whole) + u64::from(below.count_ones()))
    }
}

fn ones(words: &[u64]) -> u64 {
    words.iter().map(|word| u64::from(word.count_ones())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_member_counts_once() {
        let mut set = Bitmap::new(65);
        assert!(set.insert(64) && !set.insert(64) && !set.insert(65));
        assert!(set.contains(64) && !set.contains(63) && !set.contains(1000));
    }

    proptest! {
        #[test]
        fn ranks_are_positions_in_sorted_order(members in prop::collection::btree_set(0u64..3000, 0..300)) {
            let mut set = Bitmap::new(3000);
            for &member in &members {
                prop_assert!(set.insert(member));
            }
            let ranked = RankedBitmap::new(set);
            prop_assert_eq!(ranked.len(), members.len() as u64);
            prop_assert!(ranked.members().eq(members.iter().copied()));
            let sorted: BTreeSet<u64> = members;
            for (rank, &member) in sorted.iter().enumerate() {
                prop_assert_eq!(ranked.rank(member), Some(rank as u64));
            }
            prop_assert_eq!(ranked.rank(3000), None);
        }
    }
}

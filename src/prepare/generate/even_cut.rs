//! Consecutive ranges of nearly equal length.

use std::ops::Range;

/// The ids `0..total` in pieces whose lengths differ by at most 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct EvenCut {
    total: u64,
    pieces: u64,
}

impl EvenCut {
    /// Cuts into `pieces`, which must be in `1..=total`, so that no piece is empty.
    pub(super) fn new(total: u64, pieces: u64) -> Self {
        EvenCut { total, pieces }
    }

    /// The ids of a piece.
    pub(super) fn range(&self, piece: u64) -> Range<u64> {
        self.start(piece)..self.start(piece + 1)
    }

    /// The piece that contains an id.
    pub(super) fn piece_of(&self, id: u64) -> u64 {
        let (id, pieces) = (u128::from(id), u128::from(self.pieces));
        (((id + 1) * pieces - 1) / u128::from(self.total)) as u64
    }

    fn start(&self, piece: u64) -> u64 {
        (u128::from(piece) * u128::from(self.total) / u128::from(self.pieces)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_tile_all_ids_and_differ_by_at_most_one((total, pieces) in (1u64..500).prop_flat_map(|n| (Just(n), 1..=n))) {
            let cut = EvenCut::new(total, pieces);
            let mut next = 0;
            for piece in 0..pieces {
                let range = cut.range(piece);
                prop_assert_eq!(range.start, next);
                let length = range.end - range.start;
                prop_assert!(length == total / pieces || length == total.div_ceil(pieces));
                for id in range.clone() {
                    prop_assert_eq!(cut.piece_of(id), piece);
                }
                next = range.end;
            }
            prop_assert_eq!(next, total);
        }
    }
}

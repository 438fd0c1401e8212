//! Choice of the values that stay in memory, and of those that are packed.

/// A value's size in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValueSizes {
    /// Current size.
    pub(super) now: u64,
    /// Packed size; equal to `now` if packing does not help.
    pub(super) least: u64,
}

/// Indices of the values to pack so that as many as possible stay within `room`. `values` are in the order in which
/// they would leave: the value that is needed last comes first.
///
/// Reading from a disk takes longer than unpacking, so a value leaves only if all that stay are packed; values that are
/// needed soon stay unpacked if there is room.
pub(super) fn to_pack(values: &[ValueSizes], room: u64) -> Vec<usize> {
    let mut left = room;
    let stay = values.iter().rev().take_while(|value| {
        let fits = value.least <= left;
        left -= if fits { value.least } else { 0 };
        fits
    });
    let first = values.len() - stay.count();
    let mut packed = Vec::new();
    for (place, value) in values.iter().enumerate().skip(first).rev() {
        match left.checked_sub(value.now - value.least) {
            Some(rest) => left = rest,
            None => packed.push(place),
        }
    }
    packed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packs four values of 100 bytes with these packed sizes; the first one leaves first.
    fn packed(least: [u64; 4], room: u64) -> Vec<usize> {
        to_pack(&least.map(|least| ValueSizes { now: 100, least }), room)
    }

    #[test]
    fn values_are_packed_only_as_far_as_room_is_short() {
        assert!(packed([25; 4], 400).is_empty());
        assert_eq!(packed([25; 4], 399), [0]);
        assert_eq!(packed([25; 4], 249), [2, 1, 0], "the last is used next");
        assert_eq!(packed([25; 4], 100), [3, 2, 1, 0]);
        assert_eq!(packed([25; 4], 99), [3, 2, 1], "the first leaves");
        assert!(packed([25; 4], 0).is_empty());
    }

    #[test]
    fn values_without_zeros_stay_or_leave() {
        assert_eq!(packed([25, 100, 25, 100], 250), [2, 0]);
        assert_eq!(
            packed([25, 100, 25, 100], 125),
            [2],
            "the second leaves, and so does the first"
        );
        assert!(packed([100; 4], 250).is_empty());
    }
}

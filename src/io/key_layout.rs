//! Several numbers packed into one sortable key.

use crate::words::error::{Error, Result};

/// Number of bits per number; the first number is the most significant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyLayout<const N: usize>([u32; N]);

impl<const N: usize> KeyLayout<N> {
    /// A layout for numbers below `ends`.
    pub(crate) fn new(ends: [u64; N]) -> Result<Self> {
        let layout = KeyLayout(ends.map(|end| u64::BITS - end.saturating_sub(1).leading_zeros()));
        if layout.bits() <= u128::BITS {
            return Ok(layout);
        }
        Err(Error::config(
            "edges",
            format!("the graph is too large: {ends:?} need {} bits", layout.bits()),
        ))
    }

    /// Number of bits of a key.
    pub(crate) fn bits(&self) -> u32 {
        self.0.iter().sum()
    }

    /// Number of bytes of a key.
    pub(crate) fn bytes(&self) -> usize {
        self.bits().div_ceil(8).max(1) as usize
    }

    #[inline]
    pub(crate) fn pack(&self, numbers: [u64; N]) -> u128 {
        let pairs = self.0.iter().zip(numbers);
        pairs.fold(0, |key, (&bits, number)| key << bits | u128::from(number))
    }

    /// The numbers of a key, stored as the first [`bytes`](Self::bytes) bytes of its little-endian form.
    #[inline]
    pub(crate) fn unpack_bytes(&self, stored: &[u8]) -> [u64; N] {
        let mut key = [0; size_of::<u128>()];
        key[..stored.len()].copy_from_slice(stored);
        self.unpack(u128::from_le_bytes(key))
    }

    #[inline]
    pub(crate) fn unpack(&self, mut key: u128) -> [u64; N] {
        let mut numbers = [0; N];
        for (number, &bits) in numbers.iter_mut().zip(&self.0).rev() {
            *number = (key & ((1 << bits) - 1)) as u64;
            key >>= bits;
        }
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_keys_sort_as_numbers_do() {
        let layout = KeyLayout::new([1, 5, 1 << 40, 1000]).unwrap();
        assert_eq!((layout.bits(), layout.bytes()), (53, 7));
        let low = [0, 3, (1 << 40) - 1, 999];
        let high = [0, 4, 0, 0];
        assert_eq!(layout.unpack(layout.pack(low)), low);
        assert!(layout.pack(low) < layout.pack(high));
        assert!(KeyLayout::new([u64::MAX; 3]).is_err());
    }
}

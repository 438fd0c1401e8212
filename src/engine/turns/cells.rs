//! Words of the control file that hold numbers.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A number of 32 bits.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Cell32(AtomicU32);

impl Cell32 {
    /// The number.
    pub fn get(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }

    /// Sets the number.
    pub fn set(&self, number: u32) {
        self.0.store(number, Ordering::SeqCst);
    }

    /// Adds 1.
    pub fn count(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A number of 64 bits.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Cell64(AtomicU64);

impl Cell64 {
    /// The number.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    /// Sets the number.
    pub fn set(&self, number: u64) {
        self.0.store(number, Ordering::SeqCst);
    }
}

/// A number of bytes in whole KiB.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Kib(pub(super) Cell32);

impl Kib {
    /// The number of bytes.
    pub fn get(&self) -> u64 {
        u64::from(self.0.get()) << 10
    }

    /// Sets the number of bytes, rounded down.
    pub fn set(&self, bytes: u64) {
        self.0.set(kib(bytes));
    }
}

/// Whole KiB.
pub(super) fn kib(bytes: u64) -> u32 {
    u32::try_from(bytes >> 10).unwrap_or(u32::MAX)
}

//! Counters of bytes of rows that were requested and read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of a column or file of rows, shared by its clones.
#[derive(Debug, Clone, Default)]
pub(crate) struct RowCounters {
    needed: Arc<AtomicU64>,
    read: Arc<AtomicU64>,
}

/// Values of these counters, in bytes since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowBytes {
    /// Bytes of requested rows, including repetitions.
    pub needed: u64,
    /// Bytes read from files: less than requested if rows are kept in memory, more if other rows lie between them.
    pub read: u64,
}

impl RowCounters {
    pub(crate) fn needed(&self, bytes: u64) {
        self.needed.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn read(&self, bytes: u64) {
        self.read.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn totals(&self) -> RowBytes {
        let [needed, read] = [&self.needed, &self.read].map(|count| count.load(Ordering::Relaxed));
        RowBytes { needed, read }
    }
}

impl std::ops::Add for RowBytes {
    type Output = RowBytes;

    fn add(self, other: RowBytes) -> RowBytes {
        RowBytes { needed: self.needed + other.needed, read: self.read + other.read }
    }
}

impl std::ops::Sub for RowBytes {
    type Output = RowBytes;

    fn sub(self, other: RowBytes) -> RowBytes {
        RowBytes { needed: self.needed - other.needed, read: self.read - other.read }
    }
}

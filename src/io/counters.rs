//! How many bytes a rank wrote to and read from its own files.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of one rank, shared by everything that does I/O for it.
#[derive(Debug, Clone, Default)]
pub struct IoCounters {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    written: AtomicU64,
    read: AtomicU64,
}

/// A reading of [`IoCounters`], in bytes since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoTotals {
    /// Bytes written to spill and exchange files.
    pub written: u64,
    /// Bytes read from spill and exchange files and, by ranges, from feature files.
    pub read: u64,
}

impl IoCounters {
    /// Counts `bytes` written.
    pub fn wrote(&self, bytes: u64) {
        self.inner.written.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts `bytes` read.
    pub fn read(&self, bytes: u64) {
        self.inner.read.fetch_add(bytes, Ordering::Relaxed);
    }

    /// What has been counted so far.
    pub fn totals(&self) -> IoTotals {
        IoTotals {
            written: self.inner.written.load(Ordering::Relaxed),
            read: self.inner.read.load(Ordering::Relaxed),
        }
    }
}

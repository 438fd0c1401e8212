//! Counts of the bytes that a rank writes to and reads from its own files.

use std::ops::Sub;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// Counters of one rank, shared by everything that does I/O for it.
#[derive(Debug, Clone, Default)]
pub struct IoCounters {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    written: AtomicU64,
    read: AtomicU64,
    cached: AtomicU64,
    sent: AtomicU64,
}

/// A reading of [`IoCounters`], in bytes since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoTotals {
    /// Bytes written to spill and exchange files.
    pub written: u64,
    /// Bytes read from spill and exchange files and, by ranges, from feature files.
    pub read: u64,
    /// Bytes of the above that were written to or read from the part of the page cache for which the memory budget has room.
    /// The disk sees none of them, unless the system writes out old pages.
    pub cached: u64,
    /// Bytes of messages for ranks of other machines, which cross the network; a message for all ranks of a machine counts once.
    pub sent: u64,
}

impl IoTotals {
    /// The counts as numbers that can be summed over ranks.
    pub fn to_f64(self) -> [f64; 4] {
        [self.written, self.read, self.cached, self.sent].map(|bytes| bytes as f64)
    }

    /// The counts from sums over ranks.
    pub fn from_f64(numbers: [f64; 4]) -> Self {
        let [written, read, cached, sent] = numbers.map(|bytes| bytes as u64);
        IoTotals { written, read, cached, sent }
    }
}

/// The difference to an earlier reading.
impl Sub for IoTotals {
    type Output = IoTotals;

    fn sub(self, before: IoTotals) -> IoTotals {
        IoTotals {
            written: self.written - before.written,
            read: self.read - before.read,
            cached: self.cached - before.cached,
            sent: self.sent - before.sent,
        }
    }
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

    /// Counts `bytes` of those written or read as served by the page cache.
    pub fn cached(&self, bytes: u64) {
        self.inner.cached.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts `bytes` of a message for other machines.
    pub fn sent(&self, bytes: u64) {
        self.inner.sent.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The counts so far.
    pub fn totals(&self) -> IoTotals {
        IoTotals {
            written: self.inner.written.load(Ordering::Relaxed),
            read: self.inner.read.load(Ordering::Relaxed),
            cached: self.inner.cached.load(Ordering::Relaxed),
            sent: self.inner.sent.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_summed_over_ranks_and_taken_apart_by_epochs() {
        let counters = IoCounters::default();
        counters.wrote(5);
        counters.read(7);
        counters.cached(3);
        counters.sent(2);
        let before = counters.totals();
        assert_eq!(before, IoTotals { written: 5, read: 7, cached: 3, sent: 2 });
        counters.wrote(10);
        counters.read(20);
        counters.cached(30);
        counters.sent(40);
        let epoch = counters.totals() - before;
        assert_eq!(epoch, IoTotals { written: 10, read: 20, cached: 30, sent: 40 });
        assert_eq!(IoTotals::from_f64(epoch.to_f64()), epoch);
    }
}

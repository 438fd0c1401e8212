//! Counts of bytes that a rank writes to, and reads from, its own files.

use std::ops::Sub;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// Counters of one rank, shared by all its I/O.
#[derive(Debug, Clone, Default)]
pub struct IoCounters(Arc<Mutex<IoTotals>>);

/// A reading of [`IoCounters`], in bytes since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoTotals {
    /// Bytes written to spill and exchange files.
    pub written: u64,
    /// Bytes read from spill and exchange files and, by ranges, from feature files.
    pub read: u64,
    /// Bytes of the above within the part of the page cache for which the memory budget has room. The disk sees none of
    /// them, unless the system writes out old pages.
    pub cached: u64,
    /// Bytes of messages that cross the network to ranks on other machines; a message for all ranks of a machine counts
    /// once.
    pub sent: u64,
    /// Bytes not written because zeros are left out.
    pub saved_in_writing: u64,
    /// Bytes not read because zeros are left out.
    pub saved_in_reading: u64,
}

impl IoTotals {
    /// Number of counts.
    pub const COUNTS: usize = 6;

    /// The counts as numbers that can be summed over ranks.
    pub fn to_f64(self) -> [f64; Self::COUNTS] {
        let IoTotals { written, read, cached, sent, saved_in_writing, saved_in_reading } = self;
        [written, read, cached, sent, saved_in_writing, saved_in_reading].map(|bytes| bytes as f64)
    }

    /// The counts from sums over ranks.
    pub fn from_f64(numbers: [f64; Self::COUNTS]) -> Self {
        let [written, read, cached, sent, saved_in_writing, saved_in_reading] =
            numbers.map(|bytes| bytes as u64);
        IoTotals { written, read, cached, sent, saved_in_writing, saved_in_reading }
    }
}

/// Difference to an earlier reading.
impl Sub for IoTotals {
    type Output = IoTotals;

    fn sub(self, before: IoTotals) -> IoTotals {
        IoTotals {
            written: self.written - before.written,
            read: self.read - before.read,
            cached: self.cached - before.cached,
            sent: self.sent - before.sent,
            saved_in_writing: self.saved_in_writing - before.saved_in_writing,
            saved_in_reading: self.saved_in_reading - before.saved_in_reading,
        }
    }
}

impl IoCounters {
    /// Counts `bytes` written.
    pub fn wrote(&self, bytes: u64) {
        self.0.lock().written += bytes;
    }

    /// Counts `bytes` read.
    pub fn read(&self, bytes: u64) {
        self.0.lock().read += bytes;
    }

    /// Counts `bytes` as not written because zeros are left out.
    pub fn saved_in_writing(&self, bytes: u64) {
        self.0.lock().saved_in_writing += bytes;
    }

    /// Counts `bytes` as not read because zeros are left out.
    pub fn saved_in_reading(&self, bytes: u64) {
        self.0.lock().saved_in_reading += bytes;
    }

    /// Counts `bytes`, already counted as written or read, as served by the page cache.
    pub fn cached(&self, bytes: u64) {
        self.0.lock().cached += bytes;
    }

    /// Counts `bytes` of a message for other machines.
    pub fn sent(&self, bytes: u64) {
        self.0.lock().sent += bytes;
    }

    /// The counts so far.
    pub fn totals(&self) -> IoTotals {
        *self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_summed_over_ranks_and_taken_apart_by_epochs() {
        let counters = IoCounters::default();
        let count = |bytes: u64| {
            counters.wrote(bytes);
            counters.read(2 * bytes);
            counters.cached(3 * bytes);
            counters.sent(4 * bytes);
            counters.saved_in_writing(5 * bytes);
            counters.saved_in_reading(6 * bytes);
        };
        count(1);
        let before = counters.totals();
        count(10);
        let epoch = counters.totals() - before;
        let expected = IoTotals {
            written: 10,
            read: 20,
            cached: 30,
            sent: 40,
            saved_in_writing: 50,
            saved_in_reading: 60,
        };
        assert_eq!(epoch, expected);
        assert_eq!(IoTotals::from_f64(epoch.to_f64()), epoch);
    }
}

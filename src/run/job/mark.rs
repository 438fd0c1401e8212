//! Counters of a rank from one end of an epoch to the next.

use std::time::Instant;

use crate::engine::spill::PartitionDataManager;
use crate::event::EpochLog;
use crate::io::IoTotals;

/// A point in time, and the bytes that all ranks have written and read since, as far as they have been gathered.
pub(super) struct EpochMark {
    time: Instant,
    turns: u64,
    /// Bytes that this rank has written and read since its start, as far as they have been gathered.
    counted: IoTotals,
    /// Bytes written, read, cached and sent to other machines by all ranks since the mark.
    gathered: [f64; IoTotals::COUNTS],
}

impl EpochMark {
    /// A mark at the current time.
    pub(super) fn now(manager: &PartitionDataManager) -> Self {
        EpochMark {
            // The end of a collective is the same moment on all ranks.
            time: manager.last_collective().unwrap_or_else(Instant::now),
            turns: manager.lock().turns(),
            counted: manager.store().counters().totals(),
            gathered: [0.0; IoTotals::COUNTS],
        }
    }

    /// Bytes that this rank has written and read but not yet reported to the other ranks; counts them as reported.
    pub(super) fn take_uncounted(
        &mut self,
        manager: &PartitionDataManager,
    ) -> [f64; IoTotals::COUNTS] {
        let totals = manager.store().counters().totals();
        let uncounted = totals - self.counted;
        self.counted = totals;
        uncounted.to_f64()
    }

    /// Adds the bytes of all ranks.
    pub(super) fn gather(&mut self, io: [f64; IoTotals::COUNTS]) {
        for (sum, bytes) in self.gathered.iter_mut().zip(io) {
            *sum += bytes;
        }
    }

    /// Statistics of the epoch that ends here; starts the next one.
    pub(super) fn end_epoch(
        &mut self,
        manager: &PartitionDataManager,
        epoch: u32,
        values: Vec<(String, f64)>,
    ) -> EpochLog {
        let end = EpochMark { counted: self.counted, ..EpochMark::now(manager) };
        let begin = std::mem::replace(self, end);
        EpochLog {
            epoch,
            values,
            epoch_s: (self.time - begin.time).as_secs_f64(),
            lock_turns: self.turns - begin.turns,
            io: IoTotals::from_f64(begin.gathered),
        }
    }
}

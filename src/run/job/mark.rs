//! The state of a rank between two ends of an epoch.

use std::time::Instant;

use crate::engine::spill::PartitionDataManager;
use crate::event::EpochLog;
use crate::io::IoTotals;

/// A moment in the life of a rank, and the gathered bytes that all ranks have written and read since.
pub(super) struct EpochMark {
    time: Instant,
    turns: u64,
    /// Bytes that this rank has written and read in its life, as far as they are gathered.
    counted: IoTotals,
    /// Bytes written, read, cached and sent to other machines by all ranks since this moment.
    gathered: [f64; IoTotals::COUNTS],
}

impl EpochMark {
    /// The present moment.
    pub(super) fn now(manager: &PartitionDataManager) -> Self {
        EpochMark {
            // The end of a collective is the same moment on all ranks.
            time: manager.last_collective().unwrap_or_else(Instant::now),
            turns: manager.lock().turns(),
            counted: manager.store().counters().totals(),
            gathered: [0.0; IoTotals::COUNTS],
        }
    }

    /// Bytes that this rank has written and read and not yet given to the other ranks; afterwards they count as given.
    pub(super) fn take_uncounted(
        &mut self,
        manager: &PartitionDataManager,
    ) -> [f64; IoTotals::COUNTS] {
        let totals = manager.store().counters().totals();
        let uncounted = totals - self.counted;
        self.counted = totals;
        uncounted.to_f64()
    }

    /// Takes up the bytes of all ranks.
    pub(super) fn gather(&mut self, io: [f64; IoTotals::COUNTS]) {
        for (sum, bytes) in self.gathered.iter_mut().zip(io) {
            *sum += bytes;
        }
    }

    /// The epoch that ends here; the next one begins.
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

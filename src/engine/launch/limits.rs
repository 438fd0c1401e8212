//! Limits of a run's memory, and the number of resident workers that they allow.

use super::assumed_growth::{AssumedGrowth, TurnGrowth};
use crate::engine::turns::given_out;

/// Fraction of the budget below which there may be one more resident worker.
const FULL: f64 = 0.9;

/// Number of workers that are resident at a time if the budget allows it: one computes while the other waits for the
/// disk or does single-threaded work.
pub(super) const RESIDENT: usize = 2;

/// Number of workers from which a planned run may have a third resident worker, which computes while two wait for the
/// disk.
const MANY: usize = 8;

/// Multiple of a third resident worker's memory that must remain for waiting workers, which have to read again all
/// values that they cannot keep.
const WORTH: u64 = 3;

/// Memory that a run takes if waiting workers keep nothing, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeastMemory {
    /// Memory of all processes together.
    pub all: u64,
    /// Memory of one more resident worker.
    pub another: u64,
}

/// Limits for a run's memory that are known before it starts.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Budget of all processes together, in bytes; 0 means as little as possible.
    pub budget: u64,
    /// Bytes that the launcher had taken before it forked workers, if the user's budget does not count them.
    pub uncounted: u64,
    /// Number of workers that may be resident at a time; `None` means the number that fits.
    pub resident: Option<usize>,
    /// Growth of workers that is assumed before it has been measured.
    pub assumed: AssumedGrowth,
}

impl Limits {
    /// Number of workers that may be resident, and the share of each waiting one of `workers`, if `resident` of them
    /// take at least this memory.
    pub(crate) fn room(&self, workers: usize, resident: usize, least: LeastMemory) -> (usize, u64) {
        let (mut resident, mut peak) = (resident, least.all);
        let most = self.resident.unwrap_or(RESIDENT).min(workers);
        while resident < most && ((peak + least.another) as f64) < FULL * self.budget as f64 {
            peak += least.another;
            resident += 1;
        }
        let planned = matches!(self.assumed.training, TurnGrowth::Bytes(_));
        let many = self.resident.is_none() && planned && workers >= MANY;
        if many
            && resident == RESIDENT
            && given_out(self.budget.saturating_sub(peak)) > WORTH * least.another
        {
            peak += least.another;
            resident += 1;
        }
        (resident, given_out(self.budget.saturating_sub(peak)) / workers as u64)
    }

    /// [`room`](Self::room), given the memory of all processes at rest (`idle`) and the maximum growth of each resident
    /// one.
    pub(super) fn room_after(&self, workers: usize, idle: u64, growth: u64) -> (usize, u64) {
        let slots = self.resident.unwrap_or(1);
        let all = idle + slots as u64 * growth;
        self.room(workers, slots, LeastMemory { all, another: growth })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    /// Limits of a run that assumes nothing.
    pub(in crate::engine::launch) fn limits(budget: u64, resident: Option<usize>) -> Limits {
        Limits { budget, uncounted: 0, resident, assumed: AssumedGrowth::default() }
    }

    #[test]
    fn a_second_worker_is_resident_where_there_is_room_for_it() {
        let share = |left: u64| given_out(left) / 4;
        let least = LeastMemory { all: 2 * GIB, another: GIB };
        let room = |resident, budget| limits(budget, resident).room(4, 1, least);
        assert_eq!(room(None, 8 * GIB), (2, share(5 * GIB)));
        assert_eq!(room(None, 3 * GIB), (1, share(GIB)));
        assert_eq!(room(None, GIB), (1, 0));
        assert_eq!(room(Some(1), 8 * GIB), (1, share(6 * GIB)));
        assert_eq!(room(Some(4), 8 * GIB), (4, share(3 * GIB)));
        assert_eq!(limits(8 * GIB, None).room(1, 1, least).0, 1);
    }

    #[test]
    fn a_third_of_many_workers_is_resident_where_it_is_small() {
        let least = LeastMemory { all: 2 * GIB, another: GIB };
        let room = |workers, budget, planned| {
            let training = if planned { TurnGrowth::Bytes(GIB) } else { TurnGrowth::Unknown };
            let assumed = AssumedGrowth { training, ..AssumedGrowth::default() };
            Limits { assumed, ..limits(budget, None) }.room(workers, 1, least).0
        };
        assert_eq!(room(8, 7 * GIB, true), 3);
        assert_eq!(room(8, 6 * GIB, true), 2);
        assert_eq!(room(7, 7 * GIB, true), 2);
        assert_eq!(room(8, 7 * GIB, false), 2);
    }
}

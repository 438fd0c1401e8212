//! Limits of a run's memory, and the number of resident workers that they allow.

use super::assumed_growth::{AssumedGrowth, TurnGrowth};
use crate::engine::turns::given_out;

/// Fraction of the budget below which there may be one more resident worker.
const FULL: f64 = 0.9;

/// Number of workers that are resident at a time if the budget allows it: one computes while the other waits for the
/// disk or does single-threaded work.
pub const RESIDENT: usize = 2;

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
    /// Number of workers that may be resident, of `workers`, and the memory of all processes with them. `least` is the
    /// memory with the requested number of resident workers, or with one.
    pub(crate) fn residents(&self, workers: usize, least: LeastMemory) -> (usize, u64) {
        let LeastMemory { mut all, another } = least;
        let mut resident = self.resident.unwrap_or(1);
        let most = self.resident.unwrap_or(RESIDENT).min(workers);
        if resident < most && ((all + another) as f64) < FULL * self.budget as f64 {
            all += another;
            resident += 1;
        }
        let planned = matches!(self.assumed.training, TurnGrowth::Bytes(_));
        let many = self.resident.is_none() && planned && workers >= MANY;
        let rest = given_out(self.budget.saturating_sub(all));
        if many && resident == RESIDENT && rest > WORTH * another {
            all += another;
            resident += 1;
        }
        (resident, all)
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
        let least = |all| LeastMemory { all: all * GIB, another: GIB };
        let residents = |resident, budget, all| {
            let (resident, all) = limits(budget * GIB, resident).residents(4, least(all));
            (resident, all / GIB)
        };
        assert_eq!(residents(None, 8, 2), (2, 3));
        assert_eq!(residents(None, 3, 2), (1, 2));
        assert_eq!(residents(None, 1, 2), (1, 2));
        assert_eq!(residents(Some(1), 8, 2), (1, 2));
        assert_eq!(residents(Some(4), 8, 5), (4, 5));
        assert_eq!(limits(8 * GIB, None).residents(1, least(2)).0, 1);
    }

    #[test]
    fn a_third_of_many_workers_is_resident_where_it_is_small() {
        let least = LeastMemory { all: 2 * GIB, another: GIB };
        let residents = |workers, budget, planned| {
            let training = if planned { TurnGrowth::Bytes(GIB) } else { TurnGrowth::Unknown };
            let assumed = AssumedGrowth { training, ..AssumedGrowth::default() };
            Limits { assumed, ..limits(budget, None) }.residents(workers, least).0
        };
        assert_eq!(residents(8, 7 * GIB, true), 3);
        assert_eq!(residents(8, 6 * GIB, true), 2);
        assert_eq!(residents(7, 7 * GIB, true), 2);
        assert_eq!(residents(8, 7 * GIB, false), 2);
    }
}

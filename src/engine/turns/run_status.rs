//! Status of the whole run for other processes, and their requests.

use super::cells::{Cell32, Kib};

/// Bit that is set in a place if there is a request.
const ASKED: u32 = 1 << 31;
/// Value of `left` without a forecast.
const UNKNOWN: u32 = u32::MAX;

/// The launcher's slot in the control file. All numbers are 0 until the launcher sets them.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct RunStatus {
    /// Process id of the launcher.
    pub launcher: Cell32,
    /// Number of epochs of the run; 0 if it has none.
    pub epochs: Cell32,
    /// The memory budget in bytes; 0 means as little as possible.
    pub budget: Kib,
    /// Memory of all processes at the last sample, in bytes.
    pub used: Kib,
    /// Peak memory of all processes, in bytes.
    pub peak: Kib,
    left: Cell32,
    /// Expected number of turns of a rank in an epoch; 0 if unknown.
    pub expected_turns: Cell32,
    /// Collectives after which [requests](Request) hold.
    places: [Cell32; 3],
    saves_together: Cell32,
}

/// A request of one process to all ranks, which fulfil it after the same collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Return all memory, and wait.
    Pause = 0,
    /// Save the next complete epoch.
    Save = 1,
    /// Save the next complete epoch, and end.
    End = 2,
}

impl RunStatus {
    /// Sets the launcher's process, the number of epochs (0 if the run has none) and the memory budget.
    pub fn begin(&self, launcher: u32, epochs: u32, budget: u64) {
        self.epochs.set(epochs);
        self.budget.set(budget);
        self.left.set(UNKNOWN);
        self.launcher.set(launcher);
    }

    /// Sets the forecast of remaining seconds.
    pub fn set_left(&self, seconds: Option<f64>) {
        let whole = seconds.map_or(UNKNOWN, |seconds| (seconds as u32).min(UNKNOWN - 1));
        self.left.set(whole);
    }

    /// Forecast of remaining seconds.
    pub fn left(&self) -> Option<u32> {
        Some(self.left.get()).filter(|left| *left != UNKNOWN)
    }

    /// Sets whether each rank saves a part of the state, which all must do after the same collective.
    pub fn set_saves_together(&self, together: bool) {
        self.saves_together.set(u32::from(together));
    }

    /// Whether each rank saves a part of the state, which all must do after the same collective.
    pub fn saves_together(&self) -> bool {
        self.saves_together.get() != 0
    }

    /// Makes a request that holds after this collective.
    pub(super) fn ask_at(&self, request: Request, generation: u32) {
        self.places[request as usize].set(generation | ASKED);
    }

    pub(super) fn take_back(&self, request: Request) {
        self.places[request as usize].set(0);
    }

    /// Whether there is a request.
    pub fn is_asked(&self, request: Request) -> bool {
        self.places[request as usize].get() & ASKED != 0
    }

    /// Whether a request holds for ranks that have completed this number of collectives (modulo 2^31).
    pub(super) fn is_due(&self, request: Request, generation: u32) -> bool {
        let at = self.places[request as usize].get();
        // Shifting the 31-bit difference to the top makes its sign the sign of an i32.
        at & ASKED != 0 && (generation.wrapping_sub(at) << 1) as i32 >= 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_begins_at_its_collective_also_where_the_count_wraps() {
        let status = RunStatus::default();
        let pauses = |generation| status.is_due(Request::Pause, generation);
        assert!(!pauses(7) && !status.is_asked(Request::Pause));
        status.ask_at(Request::Pause, 5);
        assert_eq!([4, 5, 6, 1 << 20].map(pauses), [false, true, true, true]);
        status.ask_at(Request::Pause, 1);
        assert!(!pauses((1 << 31) - 1), "the count wraps next");
        assert!(pauses(1) && !status.is_due(Request::End, 1));
        status.take_back(Request::Pause);
        assert!(!pauses(5) && !status.is_asked(Request::Pause));
    }

    #[test]
    fn an_unknown_time_is_none() {
        let status = RunStatus::default();
        status.begin(7, 3, 5 << 30);
        assert_eq!((status.left(), status.budget.get()), (None, 5 << 30));
        status.set_left(Some(12.7));
        assert_eq!(status.left(), Some(12));
        status.set_left(Some(1e99));
        assert_eq!(status.left(), Some(u32::MAX - 1));
    }
}

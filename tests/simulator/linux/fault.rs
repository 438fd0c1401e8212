//! Faults and the calls that they strike.

use std::fmt;

use super::call::{KINDS, Kind, PLACES, Place};

/// The effect of a fault on the chosen call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Action {
    /// The call fails with `EIO`, once.
    InputOutput,
    /// The call fails once: with `ENOSPC` if it needs space, else with `EIO`.
    Refuse,
    /// The call fails with `ENOSPC`, once.
    DiskFull,
    /// The call and all later calls of all processes that need space fail with `ENOSPC`.
    StaysFull,
    /// Half of the bytes are written or read.
    Short,
    /// Half of the bytes are written; then the disk is full for good.
    ShortThenFull,
    /// The call fails with `EINTR`.
    Signal,
    /// The file has one wrong bit afterwards.
    Flip,
    /// The process is killed instead of making it.
    Kill,
    /// The process is killed after the call, or after half of it where several pages are written.
    KillHalfway,
    /// The launcher is killed before it.
    KillLauncher,
    /// The launcher gets SIGINT before it.
    Interrupt,
    /// The run is paused from then on, and continued once all its ranks have stopped.
    Pause,
    /// The same, but its launcher is killed once they have stopped.
    PauseKill,
    /// The same, but its launcher gets SIGINT once they have stopped.
    PauseInterrupt,
}

/// An action at the n-th of certain calls of one process.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) action: Action,
    /// 0 is the launcher, others are forked processes in their order.
    pub(crate) process: usize,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) places: Vec<Place>,
    /// Index of the call, from 0.
    pub(crate) nth: u64,
    /// Selects the byte and bit that are flipped.
    pub(crate) detail: u64,
}

impl Action {
    /// The calls that can meet it.
    pub(crate) fn kinds(self) -> Vec<Kind> {
        use Kind::{Create, MakeFolder, Read, Rename, Resize, Sync, Write};
        match self {
            Action::DiskFull | Action::StaysFull => {
                vec![Create, Write, Sync, Resize, Rename, MakeFolder]
            }
            Action::Short | Action::Signal => vec![Read, Write],
            Action::ShortThenFull | Action::Flip => vec![Write],
            _ => KINDS.to_vec(),
        }
    }

    /// Whether it pauses the run.
    pub(crate) fn pauses(self) -> bool {
        matches!(self, Action::Pause | Action::PauseKill | Action::PauseInterrupt)
    }

    /// The files on which it can strike.
    pub(crate) fn places(self) -> Vec<Place> {
        match self {
            // Our checksums do not cover the user's files, results, or the control block.
            Action::Flip => vec![Place::Spill, Place::Message, Place::Checkpoint],
            // The user's graph is only read.
            Action::DiskFull | Action::StaysFull | Action::ShortThenFull => {
                PLACES.into_iter().filter(|place| *place != Place::Input).collect()
            }
            _ => PLACES.to_vec(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { action, process, kinds, places, nth, .. } = self;
        let who = match process.checked_sub(1) {
            None => "the launcher".to_owned(),
            Some(rank) => format!("process {process} (rank {rank})"),
        };
        let calls =
            if kinds.len() == KINDS.len() { "any".to_owned() } else { format!("{kinds:?}") };
        let files = if places.len() == PLACES.len() {
            "any file".to_owned()
        } else {
            format!("{places:?}")
        };
        write!(f, "{action:?} at call {nth} ({calls} on {files}) of {who}")
    }
}

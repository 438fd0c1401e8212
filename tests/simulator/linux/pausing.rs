//! A run that is paused from outside, and continued or ended while it is paused.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use sar::engine::spill_dir::LivingRun;
use sar::engine::turns::Request;

use super::board::board;
use super::call::SPILL;
use super::fault::{Action, Fault};

/// A pause that is planned for a command.
pub(crate) struct Pausing {
    action: Action,
    /// The folders that its runs may spill into.
    spill: Vec<PathBuf>,
    /// Time for which all ranks stay paused.
    lasts: Duration,
    run: Option<LivingRun>,
    /// Time at which all ranks had paused.
    since: Option<Instant>,
    /// Number of runs that have paused.
    pub(crate) paused: usize,
    is_over: bool,
}

impl Pausing {
    /// The pause among these faults.
    pub(crate) fn planned(faults: &[Fault], roots: &[String]) -> Option<Self> {
        let fault = faults.iter().find(|fault| fault.action.pauses())?;
        Some(Pausing {
            action: fault.action,
            spill: roots.iter().map(|root| Path::new(root).join(&SPILL[1..])).collect(),
            lasts: Duration::from_millis(fault.detail % 8),
            run: None,
            since: None,
            paused: 0,
            is_over: false,
        })
    }

    /// Does what is due.
    pub(crate) fn look(&mut self, launcher: i32) {
        if self.is_over || board().pause.load(Ordering::SeqCst) == 0 {
            return;
        }
        let Some(run) = &self.run else {
            // The run may not have a folder yet; then it is looked for again.
            self.run =
                self.spill.iter().filter_map(|spill| LivingRun::all(spill).ok()).flatten().next();
            if let Some(run) = &self.run {
                run.control.ask(Request::Pause);
            }
            return;
        };
        if self.since.is_none() && run.is_paused() {
            self.since = Some(Instant::now());
            self.paused += 1;
        }
        if self.since.is_none_or(|since| since.elapsed() < self.lasts) {
            return;
        }
        let signal = match self.action {
            Action::PauseKill => libc::SIGKILL,
            Action::PauseInterrupt => libc::SIGINT,
            _ => {
                run.control.take_back(Request::Pause);
                self.is_over = true;
                return;
            }
        };
        // SAFETY: the launcher has not been reaped.
        unsafe { libc::kill(launcher, signal) };
        self.is_over = true;
    }
}

//! A worker process, from the launcher's view.

use std::path::Path;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus, kill_process_group,
    test_kill_process_group, waitid, waitpid,
};

use super::out_of_memory::OutOfMemory;
use crate::engine::turns::{Activity, Control};
use crate::platform::reached_limit;
use crate::words::error::{Error, ErrorKind, ErrorRecord, Result};

/// Hint for a worker that was killed.
const MEMORY: &str =
    "if no user killed it, the kernel probably did because memory ran out: see `dmesg`";

/// One forked worker.
pub(super) struct Worker {
    slot: usize,
    rank: usize,
    pid: Pid,
    alive: bool,
    /// Whether processes remain in its group after its end. Without them, another process may get the group's id.
    leaves_others: bool,
    /// The limit on processor time, in seconds, if the process has ended at it.
    time_limit: Option<u64>,
}

impl Worker {
    pub(super) fn new(slot: usize, rank: usize, pid: Pid) -> Self {
        Worker { slot, rank, pid, alive: true, leaves_others: false, time_limit: None }
    }

    /// Slot of the rank in the control block.
    pub(super) fn slot(&self) -> usize {
        self.slot
    }

    pub(super) fn rank(&self) -> usize {
        self.rank
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    pub(super) fn is_alive(&self) -> bool {
        self.alive
    }

    /// Exit status of the process, if it has ended. Processes that it has started get SIGTERM before its id is
    /// released.
    pub(super) fn reap(&mut self) -> Result<Option<WaitStatus>> {
        let failed = |e: rustix::io::Errno| Error::io("wait for", Path::new("a worker"), e.into());
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if waitid(WaitId::Pid(self.pid), ended).map_err(failed)?.is_none() {
            return Ok(None);
        }
        // Its own id is not released yet.
        self.leaves_others = true;
        self.signal_descendants(Signal::TERM);
        self.time_limit = reached_limit(&self.pid.to_string());
        let reaped = waitpid(Some(self.pid), WaitOptions::NOHANG).map_err(failed)?;
        self.leaves_others = test_kill_process_group(self.pid).is_ok();
        Ok(reaped.map(|(_, status)| status))
    }

    /// Sends a signal to the process group of this worker, after its end.
    pub(super) fn signal_descendants(&self, signal: Signal) {
        if self.leaves_others {
            // This fails if the group is empty.
            let _ = kill_process_group(self.pid, signal);
        }
    }

    /// Whether processes remain in the group of this worker after its end. They are forgotten once they have ended.
    pub(super) fn has_descendants(&mut self) -> bool {
        self.leaves_others = self.leaves_others && test_kill_process_group(self.pid).is_ok();
        self.leaves_others
    }

    /// The error of a worker that has sent a failure.
    pub(super) fn failed(&self, control: &Control, mut error: ErrorRecord) -> Error {
        let place = self.place(control);
        error.problem = format!("rank {} failed {place}: {}", self.rank, error.problem);
        error.into()
    }

    /// Notes that the process has ended; returns an error if it failed. `memory` shows whether the kernel killed it.
    pub(super) fn ended(
        &mut self,
        control: &Control,
        status: WaitStatus,
        memory: &OutOfMemory,
    ) -> Option<Error> {
        self.alive = false;
        let place = self.place(control);
        let (rank, pid) = (self.rank, self.pid);
        let killed = status.terminating_signal() == Some(libc::SIGKILL);
        if let Some(where_) = killed.then(|| memory.has_run_out()).flatten() {
            let problem = format!(
                "the kernel killed rank {rank} (process {pid}) {place}: memory ran out {where_}"
            );
            let hint = "lower ‹memory_budget› or ‹resident›, make hidden layers narrower, or allow more memory";
            return Some(Error::new(ErrorKind::OutOfMemory, problem).with_hint(hint));
        }
        let how = match (status.exit_status(), status.terminating_signal()) {
            (Some(0), _) if control.rank(self.slot).activity() == Activity::Finished => {
                return None;
            }
            (Some(0), _) => "ended with exit code 0 before its work was complete".to_owned(),
            (Some(code), _) => format!("ended with exit code {code}"),
            (_, Some(signal)) => format!("was killed by {}", signal_name(signal)),
            _ => "ended".to_owned(),
        };
        let problem = format!("rank {rank} (process {pid}) {how} {place}");
        let error = Error::new(ErrorKind::Worker, problem);
        let limited = killed || status.terminating_signal() == Some(libc::SIGXCPU);
        Some(match self.time_limit.filter(|_| limited) {
            Some(seconds) => error
                .with_hint(format!("allow more than {seconds} s of processor time (ulimit -t)")),
            None if killed => error.with_hint(MEMORY),
            None => error,
        })
    }

    /// Formats a place as "in epoch 3, backward of layer 1".
    pub(super) fn place(&self, control: &Control) -> String {
        let status = control.rank(self.slot);
        match status.epoch.get() {
            0 => format!("while {}", status.phase()),
            epoch => format!("in epoch {epoch}, {}", status.phase()),
        }
    }
}

fn signal_name(signal: i32) -> String {
    let known = [
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGILL, "SIGILL"),
        (libc::SIGXCPU, "SIGXCPU"),
    ];
    let name = known.iter().find(|(number, _)| *number == signal);
    name.map_or_else(|| format!("signal {signal}"), |(_, name)| (*name).to_owned())
}

//! Processor time of processes.

use std::ops::Sub;

use rustix::process::{Resource, getrlimit};
use serde::{Deserialize, Serialize};

use super::process_stat::ProcessStat;

/// Clock ticks per second in `/proc`, on every architecture that Linux still supports.
const TICKS: f64 = 100.0;

/// Share of its limit from which on a process counts as ended by it: the kernel estimates the time that it compares.
const REACHED: f64 = 0.9;

/// Processor time in seconds, in steps of 10 ms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessorSeconds {
    /// Seconds in the program's own code.
    pub user: f64,
    /// Seconds in the kernel on the program's behalf.
    pub system: f64,
}

impl ProcessorSeconds {
    /// Processor time of this process so far; 0 if the system does not report it.
    pub fn of_this_process() -> Self {
        Self::of("self").unwrap_or_default()
    }

    /// Processor time of `process`, which is the id of a process or `self`.
    fn of(process: &str) -> Option<Self> {
        let seconds = |ticks: u64| ticks as f64 / TICKS;
        let stat = ProcessStat::read(process)?;
        Some(ProcessorSeconds { user: seconds(stat.user), system: seconds(stat.system) })
    }
}

/// The limit on processor time in seconds (`ulimit -t`), if a child of this process has reached it.
pub(crate) fn reached_limit(child: &str) -> Option<u64> {
    let limit = getrlimit(Resource::Cpu).current?;
    let ProcessorSeconds { user, system } = ProcessorSeconds::of(child)?;
    (user + system >= REACHED * limit as f64).then_some(limit)
}

impl Sub for ProcessorSeconds {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        ProcessorSeconds { user: self.user - before.user, system: self.system - before.system }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_the_kernel_take_its_time() {
        let before = ProcessorSeconds::of_this_process();
        while (ProcessorSeconds::of_this_process() - before).system < 0.02 {
            std::fs::read_to_string("/proc/self/smaps").unwrap();
        }
    }
}

//! Processor time of this process.

use std::fs;
use std::ops::Sub;

use serde::{Deserialize, Serialize};

/// Clock ticks per second in `/proc`, on every architecture that Linux still supports.
const TICKS: f64 = 100.0;

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
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        Self::of_stat(&stat).unwrap_or_default()
    }

    /// Fields 14 and 15 of `/proc/PID/stat`.
    fn of_stat(stat: &str) -> Option<Self> {
        // The name, in parentheses, may hold any text.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
        let mut seconds = || Some(fields.next()?.parse::<u64>().ok()? as f64 / TICKS);
        Some(ProcessorSeconds { user: seconds()?, system: seconds()? })
    }
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
    fn the_times_are_the_fourteenth_and_the_fifteenth_field() {
        let stat = "12 (a ) b) T 1 12 12 0 -1 4194560 100 0 0 0 70 8 0 0 20 0 1 0 5";
        let seconds = ProcessorSeconds::of_stat(stat);
        assert_eq!(seconds, Some(ProcessorSeconds { user: 0.7, system: 0.08 }));
        assert_eq!(ProcessorSeconds::of_stat(""), None);
    }

    #[test]
    fn calls_of_the_kernel_take_its_time() {
        let before = ProcessorSeconds::of_this_process();
        while (ProcessorSeconds::of_this_process() - before).system < 0.02 {
            fs::read_to_string("/proc/self/smaps").unwrap();
        }
    }
}

//! State and processor time of a process.

use std::fs;

/// A process as the kernel lists it in `/proc/PID/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    /// `R` (running), `S` and `D` (waiting), `T` and `t` (stopped), `Z` and `X` (ended), or `I` (idle).
    pub(crate) state: char,
    /// Clock ticks in the program's own code.
    pub(crate) user: u64,
    /// Clock ticks in the kernel on the program's behalf.
    pub(crate) system: u64,
}

impl ProcessStat {
    /// Reads the entry of `process`, which is the id of a process or `self`; `None` if the process does not exist.
    pub(crate) fn read(process: &str) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
    }

    pub(crate) fn parse(stat: &str) -> Option<Self> {
        // The name, in parentheses, may hold any text.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?.chars().next()?;
        let mut ticks = fields.skip(10).map(|field| field.parse().ok());
        Some(ProcessStat { state, user: ticks.next()??, system: ticks.next()?? })
    }

    /// Whether the process can still do something: it has not ended, even if its parent has not heard of it.
    pub(crate) fn is_alive(&self) -> bool {
        !matches!(self.state, 'Z' | 'X')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_and_times_follow_the_name() {
        let stat = "12 (a ) b) T 1 12 12 0 -1 4194560 100 0 0 0 70 8 0 0 20 0 1 0 5";
        let stopped = ProcessStat { state: 'T', user: 70, system: 8 };
        assert_eq!(ProcessStat::parse(stat), Some(stopped));
        assert!(stopped.is_alive());
        assert_eq!(ProcessStat::parse("12 (a) Z 1"), None);
        assert_eq!(ProcessStat::parse(""), None);
    }

    #[test]
    fn a_process_reads_itself() {
        let own = std::process::id().to_string();
        assert!(ProcessStat::read("self").is_some_and(|stat| stat.is_alive()));
        assert!(ProcessStat::read(&own).is_some_and(|stat| stat.is_alive()));
        assert_eq!(ProcessStat::read("0"), None);
    }
}

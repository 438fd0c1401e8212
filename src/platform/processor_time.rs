//! Processor time of this process.

use std::fs;

/// Clock ticks per second in `/proc`, on every architecture that Linux still has.
const TICKS: f64 = 100.0;

/// Seconds of processor time that the kernel has spent for this process so far, in steps of 10 ms; 0 if the system does not say.
pub fn system_seconds() -> f64 {
    system_ticks(&fs::read_to_string("/proc/self/stat").unwrap_or_default()).unwrap_or(0) as f64
        / TICKS
}

/// Field 15 of `/proc/PID/stat`.
fn system_ticks(stat: &str) -> Option<u64> {
    // The name, in parentheses, may hold any text.
    stat.rsplit_once(')')?.1.split_whitespace().nth(12)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_in_the_kernel_is_the_fifteenth_field() {
        let stat = "12 (a ) b) T 1 12 12 0 -1 4194560 100 0 0 0 70 8 0 0 20 0 1 0 5";
        assert_eq!(system_ticks(stat), Some(8));
        assert_eq!(system_ticks(""), None);
    }

    #[test]
    fn calls_of_the_kernel_take_its_time() {
        let before = system_seconds();
        while system_seconds() - before < 0.02 {
            fs::read_to_string("/proc/self/smaps").unwrap();
        }
    }
}

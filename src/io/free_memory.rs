//! How much memory is free.

use std::fs;
use std::path::Path;

/// Bytes that programs can still take: what the machine has available, or what is left of the control group's limit, if
/// that is less. `None` where the system does not say.
pub fn free_memory() -> Option<u64> {
    let machine = meminfo(&fs::read_to_string("/proc/meminfo").ok()?)?;
    Some(control_group().map_or(machine, |group| group.min(machine)))
}

fn meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

/// What is left of the tightest limit on the way from this process's control group (version 2) to the root.
fn control_group() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let root = Path::new("/sys/fs/cgroup");
    let own = root.join(path);
    let left = |group: &Path| {
        let number = |name| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
        Some(number("memory.max")?.saturating_sub(number("memory.current")?))
    };
    own.ancestors().take_while(|group| group.starts_with(root)).filter_map(left).min()
}

#[cfg(test)]
mod tests {
    use super::{free_memory, meminfo};

    #[test]
    fn the_available_memory_is_read() {
        assert_eq!(meminfo("MemTotal: 9 kB\nMemAvailable:    2048 kB\n"), Some(2 << 20));
        assert_eq!(meminfo("MemTotal: 9 kB\n"), None);
        if cfg!(target_os = "linux") {
            assert!(free_memory().unwrap() > 1 << 20);
        }
    }
}

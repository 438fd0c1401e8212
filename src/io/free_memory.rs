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

/// What is left of the tightest limit on the way from this process's control group to the root.
fn control_group() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let root = Path::new("/sys/fs/cgroup");
    let of_version_2 = limits(&groups, "0::", root, ["memory.max", "memory.current"]);
    let files = ["memory.limit_in_bytes", "memory.usage_in_bytes"];
    let of_version_1 = limits(&groups, ":memory:", &root.join("memory"), files);
    of_version_2.into_iter().chain(of_version_1).min()
}

/// Of the groups in the hierarchy that is mounted at `root`: what is left of each limit. `groups` are a process's, of which
/// `key` stands before the path of the right one.
fn limits(groups: &str, key: &str, root: &Path, [most, taken]: [&str; 2]) -> Vec<u64> {
    let Some((_, path)) = groups.lines().find_map(|line| line.split_once(key)) else {
        return Vec::new();
    };
    let own = root.join(path.trim_start_matches('/'));
    let left = |group: &Path| {
        let number = |name| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
        Some(number(most)?.saturating_sub(number(taken)?))
    };
    own.ancestors().take_while(|group| group.starts_with(root)).filter_map(left).collect()
}

#[cfg(test)]
mod tests {
    use super::{free_memory, limits, meminfo};

    #[test]
    fn the_available_memory_is_read() {
        assert_eq!(meminfo("MemTotal: 9 kB\nMemAvailable:    2048 kB\n"), Some(2 << 20));
        assert_eq!(meminfo("MemTotal: 9 kB\n"), None);
        if cfg!(target_os = "linux") {
            assert!(free_memory().unwrap() > 1 << 20);
        }
    }

    #[test]
    fn limits_of_a_group_and_those_above_it_are_read() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| std::fs::write(root.path().join(path), text).unwrap();
        std::fs::create_dir_all(root.path().join("a/b")).unwrap();
        write("a/memory.max", "1000\n");
        write("a/memory.current", "300\n");
        write("a/b/memory.max", "max\n");
        let files = ["memory.max", "memory.current"];
        assert_eq!(limits("1:cpu:/x\n0::/a/b\n", "0::", root.path(), files), [700]);
        assert!(limits("1:cpu:/x\n", "0::", root.path(), files).is_empty());
    }
}

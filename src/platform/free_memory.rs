//! How much memory is free for this process and the control groups it is in.

use std::fs;
use std::path::{Path, PathBuf};

use super::process_memory::listed_bytes;

/// Bytes that programs can still allocate: the machine's available memory, or what is left below the control group's
/// limit, whichever is less. `None` if the system does not report it.
pub fn free_memory() -> Option<u64> {
    let machine = listed_bytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")?;
    let left = MemoryGroups::of_this_process().left();
    Some(left.map_or(machine, |group| group.min(machine)))
}

/// Total memory of the machine, in bytes. `None` if the system does not report it.
fn machine_memory() -> Option<u64> {
    listed_bytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")
}

/// The file names and keys of one version of control groups.
struct Version {
    /// The text before the group's path in `/proc/PID/cgroup`.
    key: &'static str,
    /// Mount point of the hierarchy, below `/sys/fs/cgroup`.
    mount: &'static str,
    limit: &'static str,
    used: &'static str,
    /// Keys of the page cache in `memory.stat`.
    cache: [&'static str; 2],
    /// Keys of the part of the page cache that must be written before it can be reclaimed.
    unwritten: [&'static str; 2],
    /// The file with a line `oom_kill N`.
    kills: &'static str,
}

const VERSIONS: [Version; 2] = [
    Version {
        key: "0::",
        mount: "",
        limit: "memory.max",
        used: "memory.current",
        cache: ["inactive_file", "active_file"],
        unwritten: ["file_dirty", "file_writeback"],
        kills: "memory.events",
    },
    Version {
        key: ":memory:",
        mount: "memory",
        limit: "memory.limit_in_bytes",
        used: "memory.usage_in_bytes",
        cache: ["total_inactive_file", "total_active_file"],
        unwritten: ["total_dirty", "total_writeback"],
        kills: "memory.oom_control",
    },
];

/// The control groups of a process in both versions, from its own group to the root.
pub struct MemoryGroups(Vec<(&'static Version, PathBuf)>);

impl MemoryGroups {
    /// Finds the groups of this process.
    pub fn of_this_process() -> Self {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Self::find(&groups, Path::new("/sys/fs/cgroup"))
    }

    /// Finds the groups that a process's `/proc/PID/cgroup` names, below `root`.
    fn find(groups: &str, root: &Path) -> Self {
        let mut found = Vec::new();
        for version in &VERSIONS {
            let path = groups.lines().find_map(|line| line.split_once(version.key));
            let Some((_, path)) = path else { continue };
            let mount = root.join(version.mount);
            let own = mount.join(path.trim_start_matches('/'));
            let up = own.ancestors().take_while(|group| group.starts_with(&mount));
            found.extend(up.map(|group| (version, group.to_owned())));
        }
        MemoryGroups(found)
    }

    /// Bytes left below the tightest limit; `None` without limits. Page cache counts as free, because the kernel
    /// reclaims it before it refuses memory.
    fn left(&self) -> Option<u64> {
        let left = |(version, group): &(&Version, PathBuf)| {
            let limit = number(&group.join(version.limit))?;
            let used = number(&group.join(version.used))?;
            let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
            let sum = |keys: [&str; 2]| keys.iter().filter_map(|key| value(&stat, key)).sum();
            let cache: u64 = sum(version.cache);
            let reclaimable = cache.saturating_sub(sum(version.unwritten));
            Some(limit.saturating_sub(used.saturating_sub(reclaimable)))
        };
        self.0.iter().filter_map(left).min()
    }

    /// The tightest limit, in bytes; `None` without limits.
    fn limit(&self) -> Option<u64> {
        self.0.iter().filter_map(|(version, group)| number(&group.join(version.limit))).min()
    }

    /// The tightest limit, in bytes, if it is below the machine's memory, as that of a container is.
    pub fn container_limit(&self) -> Option<u64> {
        let machine = machine_memory().unwrap_or(u64::MAX);
        self.limit().filter(|limit| *limit < machine)
    }

    /// Number of processes in the innermost group that the kernel has killed for lack of memory; `None` if the system
    /// does not report it.
    pub fn kills(&self) -> Option<u64> {
        self.0.iter().find_map(|(version, group)| {
            value(&fs::read_to_string(group.join(version.kills)).ok()?, "oom_kill")
        })
    }
}

fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The number on the line that begins with `key`.
fn value(text: &str, key: &str) -> Option<u64> {
    let mut fields = text.lines().filter_map(|line| line.split_once(' '));
    fields.find(|(name, _)| *name == key)?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates files below a root and finds the groups there.
    fn groups(own: &str, files: &[(&str, &str)]) -> (tempfile::TempDir, MemoryGroups) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let groups = MemoryGroups::find(own, root.path());
        (root, groups)
    }

    #[test]
    fn the_available_memory_is_read() {
        let text = "MemTotal: 9 kB\nMemAvailable:    2048 kB\n";
        assert_eq!(listed_bytes(text, "MemAvailable:"), Some(2 << 20));
        assert_eq!(listed_bytes("MemTotal: 9 kB\n", "MemAvailable:"), None);
        if cfg!(target_os = "linux") {
            assert!(free_memory().unwrap() > 1 << 20);
        }
    }

    #[test]
    fn limits_of_a_group_and_those_above_it_are_read() {
        let files = [
            ("a/memory.max", "1000\n"),
            ("a/memory.current", "300\n"),
            ("a/b/memory.max", "max\n"),
        ];
        let (_root, found) = groups("1:cpu:/x\n0::/a/b\n", &files);
        assert_eq!((found.left(), found.limit(), found.kills()), (Some(700), Some(1000), None));
        let (_root, none) = groups("1:cpu:/x\n", &files);
        assert_eq!((none.left(), none.limit(), none.kills()), (None, None, None));
    }

    #[test]
    fn page_cache_is_free_in_both_versions() {
        // A container with 400 MB, after copying 390 MB of files.
        let stat = "anon 5000000\nfile 394000000\nshmem 1000000\nfile_dirty 2000000\n\
                    file_writeback 1000000\ninactive_anon 0\ninactive_file 300000000\nactive_file 90000000\n";
        let files = [
            ("memory.max", "400000000\n"),
            ("memory.current", "399900000\n"),
            ("memory.stat", stat),
            ("memory.events", "low 0\nhigh 0\nmax 7\noom 2\noom_kill 3\noom_group_kill 0\n"),
        ];
        let (_root, found) = groups("0::/\n", &files);
        assert_eq!((found.left(), found.kills()), (Some(387_100_000), Some(3)));

        let stat = "cache 9\ninactive_file 9\nactive_file 9\ntotal_dirty 2000000\ntotal_writeback 1000000\n\
                    total_inactive_file 300000000\ntotal_active_file 90000000\n";
        let files = [
            ("memory/c/memory.limit_in_bytes", "400000000\n"),
            ("memory/c/memory.usage_in_bytes", "399900000\n"),
            ("memory/c/memory.stat", stat),
            ("memory/c/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n"),
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory/memory.usage_in_bytes", "9000000000\n"),
        ];
        let (_root, found) = groups("4:memory:/c\n0::/\n", &files);
        assert_eq!((found.left(), found.kills()), (Some(387_100_000), Some(4)));
        assert_eq!(found.limit(), Some(400_000_000));
    }
}

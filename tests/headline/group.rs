//! A control group of the kernel (version 1) that limits memory.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Memory that counts: anonymous pages, shared ones, and pages of files that are yet to be written. The kernel can drop all others.
const COUNTED: [&str; 3] = ["rss", "shmem", "dirty"];

/// A group, which is removed when dropped. Its memory is sampled all the time.
pub(crate) struct Group {
    path: PathBuf,
    most: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    sampler: Option<JoinHandle<()>>,
}

impl Group {
    /// A group of `limit` bytes; `None` where the machine lets no user make one.
    pub(crate) fn make(limit: u64) -> Option<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let root = Path::new("/sys/fs/cgroup/memory");
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = root.join(format!("sar-single-budget-{}-{number}", std::process::id()));
        if !root.join("cgroup.procs").exists() || fs::create_dir(&path).is_err() {
            return None;
        }
        fs::write(path.join("memory.limit_in_bytes"), limit.to_string()).unwrap();
        let (most, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let statistics = path.join("memory.stat");
        let sampler = std::thread::spawn({
            let (most, over) = (most.clone(), over.clone());
            move || {
                while !over.load(Ordering::Relaxed) {
                    let text = fs::read_to_string(&statistics).unwrap_or_default();
                    let figures = text.lines().filter_map(|line| line.split_once(' '));
                    let counted = figures.filter(|(name, _)| COUNTED.contains(name));
                    let bytes: u64 = counted.map(|(_, bytes)| bytes.parse::<u64>().unwrap()).sum();
                    most.fetch_max(bytes, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        });
        Some(Group { path, most, over, sampler: Some(sampler) })
    }

    /// Has the command run in the group.
    pub(crate) fn take_in(&self, command: &mut Command) {
        let program = command.get_program().to_owned();
        let arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
        let script = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", self.path.display());
        *command = Command::new("sh");
        command.arg0("sh").args(["-c", &script, "sh"]).arg(program).args(arguments);
    }

    /// The most memory that the processes of the group had together.
    pub(crate) fn most_memory(&self) -> u64 {
        self.most.load(Ordering::Relaxed)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(sampler) = self.sampler.take() {
            sampler.join().unwrap();
        }
        // Processes that have just ended may still be leaving.
        for _ in 0..1000 {
            if fs::remove_dir(&self.path).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("{} cannot be removed", self.path.display());
    }
}

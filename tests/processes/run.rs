//! A training run of the built binary, watched from outside through its control file and /proc.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use sar::engine::turns::Control;

use super::common::{repository, with_default_signals};

/// Time limit of anything that the tests wait for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A run in the background, in its own folder.
pub(crate) struct Run {
    child: Child,
    folder: tempfile::TempDir,
}

/// The end of a run.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stderr: String,
    pub(crate) spill: PathBuf,
    _folder: tempfile::TempDir,
}

impl Run {
    /// Trains on karate for more epochs than a test waits for, so that the run has to be stopped.
    pub(crate) fn endless(more: &[&str]) -> Self {
        Self::start(&repository("data/karate/karate.json"), more)
    }

    pub(crate) fn start(part_json: &Path, more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = with_default_signals(env!("CARGO_BIN_EXE_sar-single"));
        command.arg("--part-json").arg(part_json);
        command.arg("--spill-dir").arg(folder.path().join("spill"));
        command.arg("--out").arg(folder.path().join("out"));
        command.args(["--hidden", "16", "--epochs", "1000000"]).args(more);
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        Run { child, folder }
    }

    pub(crate) fn launcher(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// The run's control file, once it exists.
    pub(crate) fn control(&self) -> Control {
        let spill = self.spill();
        wait_for("a control file", || {
            let entries = fs::read_dir(&spill).ok()?.flatten().map(|entry| entry.path());
            let mut runs = entries.filter(|path| {
                path.file_name().unwrap().to_string_lossy().starts_with("sar-single-")
            });
            Control::open(&runs.next()?.join("control")).ok()
        })
    }

    /// The worker processes by rank (they are forked in that order).
    pub(crate) fn workers(&self, world_size: usize) -> Vec<Pid> {
        let launcher = self.child.id();
        let path = format!("/proc/{launcher}/task/{launcher}/children");
        wait_for("workers", || {
            let children = fs::read_to_string(&path).ok()?;
            let mut pids: Vec<i32> =
                children.split_whitespace().map(|p| p.parse().unwrap()).collect();
            pids.sort_unstable();
            let pids: Vec<_> = pids.into_iter().filter_map(Pid::from_raw).collect();
            (pids.len() == world_size).then_some(pids)
        })
    }

    /// The folder of spilled data, unless the flags name another one.
    pub(crate) fn spill(&self) -> PathBuf {
        self.folder.path().join("spill")
    }

    /// The folder of results.
    pub(crate) fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.launcher(), signal).unwrap();
    }

    /// Waits for the launcher to end.
    pub(crate) fn end(mut self) -> Ended {
        let status = wait_for("the end of the run", || self.child.try_wait().unwrap());
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let spill = self.folder.path().join("spill");
        Ended { code: status.code(), stderr, spill, _folder: self.folder }
    }
}

impl Ended {
    /// The lines of the one error message.
    pub(crate) fn error(&self) -> &str {
        let errors = self.stderr.lines().filter(|line| line.starts_with("error:")).count();
        assert_eq!(errors, 1, "one error message:\n{}", self.stderr);
        self.stderr.lines().find(|line| line.starts_with("error:")).unwrap()
    }

    pub(crate) fn assert_no_spill_files(&self) {
        let left: Vec<_> = fs::read_dir(&self.spill).into_iter().flatten().flatten().collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}

/// Whether a process exists and is not a zombie.
pub(crate) fn is_running(pid: Pid) -> bool {
    let stat =
        fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim().chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

/// Polls until `look` finds something.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begin.elapsed() < PATIENCE, "{what} did not come");
        std::thread::sleep(Duration::from_micros(200));
    }
}

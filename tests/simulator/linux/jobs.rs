//! Several simulators side by side: a run mostly waits, so there are more of them than processors.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::process::adopt_orphans;
use super::scene::Folders;

/// The results of a job.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub(crate) seeds: u64,
    pub(crate) runs: u64,
    pub(crate) struck: u64,
    pub(crate) paused: u64,
    pub(crate) refused: u64,
    pub(crate) failed: Vec<u64>,
    /// Calls that failed, one after the other, by command: their number, and how many did no harm.
    pub(crate) calls: Vec<(String, u64, u64)>,
    pub(crate) problems: Vec<String>,
}

/// Forks `count` jobs, each with its own folders, and adds up their results.
pub(crate) fn side_by_side(count: u64, work: &dyn Fn(u64, &Folders) -> Tally) -> Tally {
    let results = tempfile::tempdir().unwrap();
    let path = |job: u64| results.path().join(job.to_string());
    let jobs: Vec<i32> =
        (0..count).map(|job| fork_job(&path(job), &|folders| work(job, folders))).collect();
    let mut total = Tally::default();
    for (job, pid) in (0..count).zip(jobs) {
        let mut status = 0;
        // SAFETY: a child of this process.
        unsafe { libc::waitpid(pid, &raw mut status, 0) };
        let text = fs::read(path(job)).unwrap_or_default();
        match serde_json::from_slice::<Tally>(&text) {
            Ok(tally) => total.add(tally),
            Err(_) => total.problems.push(format!("job {job} ended with status {status}")),
        }
    }
    total
}

fn fork_job(result: &Path, work: &dyn Fn(&Folders) -> Tally) -> i32 {
    // SAFETY: the simulator has one thread.
    match unsafe { libc::fork() } {
        -1 => panic!("fork: {}", std::io::Error::last_os_error()),
        0 => {
            // SAFETY: changes this process only.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) };
            adopt_orphans();
            let folder = |place: &str| {
                let builder = tempfile::Builder::new().prefix("simulator-").tempdir_in(place);
                builder.or_else(|_| tempfile::tempdir()).unwrap()
            };
            let (memory, disk) = (folder("/dev/shm"), folder("/var/tmp"));
            let folders =
                Folders { memory: memory.path().to_owned(), disk: disk.path().to_owned() };
            let tally = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(&folders)));
            drop((memory, disk));
            if let Ok(tally) = &tally {
                fs::write(result, serde_json::to_vec(tally).unwrap()).unwrap();
            }
            // SAFETY: ends this process; the parent's destructors belong to the parent.
            unsafe { libc::_exit(i32::from(tally.is_err())) }
        }
        child => child,
    }
}

impl Tally {
    /// Adds the counts of another job.
    pub(crate) fn add(&mut self, other: Tally) {
        self.seeds += other.seeds;
        self.runs += other.runs;
        self.struck += other.struck;
        self.paused += other.paused;
        self.refused += other.refused;
        self.failed.extend(other.failed);
        self.problems.extend(other.problems);
        for (name, failed, harmless) in other.calls {
            match self.calls.iter_mut().find(|(known, ..)| *known == name) {
                Some((_, all, without)) => {
                    *all += failed;
                    *without += harmless;
                }
                None => self.calls.push((name, failed, harmless)),
            }
        }
    }
}

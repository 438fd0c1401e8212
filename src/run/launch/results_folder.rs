//! The results folder of a run, with a lock: one run at a time writes to it.
//!
//! The lock is on the folder itself, so it is not visible as a file. The kernel releases it with the last process of
//! the run; /proc/locks names its holder.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Access, access};

use crate::io::{AtomicFile, UNFINISHED, remove_if_exists, replace};
use crate::platform::ProcessStat;
use crate::run::config::RunConfig;
use crate::run::rank::{CHECKPOINT, PREVIOUS_CHECKPOINT, WEIGHTS, pending_weights};
use crate::words::error::{Error, Result};

/// Name of the file with a run's configuration, in its folder.
pub const CONFIG: &str = "config.toml";
/// Name of the file with a run's metrics, in its folder.
pub const METRICS: &str = "metrics.jsonl";
/// Name of the file with the turns of an epoch, in a run's folder.
pub const TURNS: &str = "turns.json";
/// Name of the file that records the end of a run, in its folder.
pub const END: &str = "end.json";
/// Name of the file with a run's plan, in its folder.
pub const PLAN: &str = "plan.json";

/// How long a killed launcher's workers, which are killed with it, may still hold its lock.
const LAST_BREATH: Duration = Duration::from_secs(3);

/// A results folder that no other run writes to.
#[derive(Debug)]
pub(in crate::run) struct ResultsFolder {
    path: PathBuf,
    /// The lock of the folder, if its file system supports locks.
    _lock: File,
    /// A note for the user.
    pub(in crate::run) note: Option<String>,
}

impl ResultsFolder {
    /// Opens a folder for a new run. It must be empty, or, with `overwrite`, contain an earlier run's results. `remedy`
    /// says what else a user can do with a folder that is not empty.
    pub(in crate::run) fn for_new_run(path: &Path, overwrite: bool, remedy: &str) -> Result<Self> {
        let folder = Self::lock(path, "name another folder with ‹out›")?;
        let unreadable = |e| Error::unreadable(path, &e);
        let entries = fs::read_dir(path).map_err(unreadable)?.collect::<Result<Vec<_>, _>>();
        let unfinished = |name: &OsStr| name.as_encoded_bytes().starts_with(UNFINISHED.as_bytes());
        if entries.map_err(unreadable)?.iter().all(|entry| unfinished(&entry.file_name())) {
            // The earlier run was killed before it had results.
            AtomicFile::remove_leftovers(path)?;
            return Ok(folder);
        }
        if !overwrite {
            let hint = format!("name another folder with ‹out›, or {remedy}");
            return Err(Error::input(path, "", "is not empty").with_hint(hint));
        }
        let config = path.join(CONFIG);
        let foreign = match fs::read_to_string(&config) {
            Ok(text) => RunConfig::from_toml(&config, &text).is_err(),
            Err(e) => e.kind() != ErrorKind::NotFound,
        };
        if foreign {
            let problem = "is not the configuration of a run, so it is not replaced";
            return Err(Error::input(&config, "", problem)
                .with_hint("name another folder with ‹out›, or remove the file"));
        }
        AtomicFile::remove_leftovers(path)?;
        Ok(folder)
    }

    /// Opens the folder of a run that is resumed.
    pub(in crate::run) fn for_resumed_run(path: &Path) -> Result<Self> {
        let folder = Self::lock(path, "make it writable, or resume a copy of it")?;
        AtomicFile::remove_leftovers(path)?;
        Ok(folder)
    }

    /// Removes the record of the run's end, because the run continues.
    pub(in crate::run) fn forget_end(&self) -> Result<()> {
        remove_if_exists(&self.path.join(END))
    }

    /// Removes the files of an earlier run. The weights go first, so that they never lie next to another configuration.
    pub(in crate::run) fn clear(&self) -> Result<()> {
        for name in [WEIGHTS, CHECKPOINT, PREVIOUS_CHECKPOINT, END, METRICS, TURNS, PLAN, CONFIG] {
            remove_if_exists(&self.path.join(name))?;
        }
        Ok(())
    }

    /// Renames the weights of a successful run to their final name. If it has written none, those of an earlier end are
    /// removed.
    pub(in crate::run) fn keep_weights(&self) -> Result<()> {
        let (pending, weights) = (pending_weights(&self.path), self.path.join(WEIGHTS));
        match fs::symlink_metadata(&pending) {
            Ok(_) => replace(&pending, &weights),
            Err(e) if e.kind() == ErrorKind::NotFound => remove_if_exists(&weights),
            Err(e) => Err(Error::unreadable(&pending, &e)),
        }
    }

    /// Takes the lock. `remedy` is for a folder that cannot be written to.
    fn lock(path: &Path, remedy: &str) -> Result<Self> {
        let file = File::open(path).map_err(|e| Error::unreadable(path, &e))?;
        access(path, Access::WRITE_OK).map_err(|e| {
            Error::input(path, "", format!("cannot be written to: {e}")).with_hint(remedy)
        })?;
        let begin = Instant::now();
        let note = loop {
            match file.try_lock() {
                Ok(()) => break None,
                Err(TryLockError::Error(e)) => {
                    break Some(format!(
                        "{}: cannot be locked ({e}); do not start a second run that writes there",
                        path.display()
                    ));
                }
                Err(TryLockError::WouldBlock) => {}
            }
            let holder = holder(&file);
            if holder.is_some_and(is_running) || begin.elapsed() > LAST_BREATH {
                let who = holder.map_or_else(String::new, |pid| format!(" (process {pid})"));
                let problem = format!("another run{who} writes to this folder");
                return Err(Error::input(path, "", problem)
                    .with_hint("wait until it has ended, or name another folder with ‹out›"));
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        Ok(ResultsFolder { path: path.to_owned(), _lock: file, note })
    }
}

/// The process that has locked a file, if the kernel reports it (in a container, not after the process has died). Lines
/// of /proc/locks: `1: FLOCK ADVISORY WRITE 4321 08:02:1234 0 EOF`.
fn holder(file: &File) -> Option<u32> {
    let inode = format!(":{}", file.metadata().ok()?.ino());
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [_, "FLOCK", _, _, pid, place, ..] if place.ends_with(&inode) => {
                pid.parse().ok().filter(|pid| *pid > 0)
            }
            _ => None,
        }
    })
}

/// Whether a process exists and is not a zombie.
fn is_running(pid: u32) -> bool {
    ProcessStat::read(&pid.to_string()).is_some_and(|stat| stat.is_alive())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_runs_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("notes.txt"), "mine").unwrap();
        fs::write(path(WEIGHTS), "old").unwrap();
        assert!(ResultsFolder::for_new_run(folder.path(), false, "").is_err());
        // The new run's weights are complete before the launcher learns of its first epoch; other unfinished ones are
        // an earlier run's.
        let pending = pending_weights(folder.path());
        fs::write(&pending, "killed").unwrap();
        let taken = ResultsFolder::for_new_run(folder.path(), true, "").unwrap();
        assert!(!pending.exists());
        fs::write(&pending, "new").unwrap();
        taken.clear().unwrap();
        assert!(path("notes.txt").exists() && !path(WEIGHTS).exists());
        taken.keep_weights().unwrap();
        assert_eq!(fs::read_to_string(path(WEIGHTS)).unwrap(), "new");
        // A run that goes on to a model that is not finite writes none.
        taken.keep_weights().unwrap();
        assert!(!path(WEIGHTS).exists());
        drop(taken);
        fs::write(path(CONFIG), "[tool]\nname = \"another program's\"\n").unwrap();
        let error = ResultsFolder::for_new_run(folder.path(), true, "").unwrap_err().to_string();
        assert!(error.contains("config.toml: is not the configuration of a run"), "{error}");
    }
}

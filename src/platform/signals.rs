//! SIGINT (Ctrl-C), SIGTERM and SIGHUP, from the program's first moment to its end.
//!
//! A signal sets a flag, which commands check between two steps of their work. Signals ignored at the program's start
//! (`nohup`, `trap '' HUP`) stay ignored.
#![allow(unsafe_code)] // calls of the C library: sigprocmask, signal

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

use parking_lot::Mutex;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::words::error::{Error, Result};

const ALL: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// Whether a signal has come.
static RECEIVED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Output that [`remove_unfinished`] removes.
static UNFINISHED: Mutex<Vec<Output>> = Mutex::new(Vec::new());

/// Number of attempts to empty a folder that another thread keeps writing to.
const ATTEMPTS: usize = 1000;

/// Signals that end the program: all except those ignored at the first call of this function.
pub fn ending() -> &'static [i32] {
    static ENDING: OnceLock<Vec<i32>> = OnceLock::new();
    ENDING.get_or_init(|| {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = ignored(&status);
        ALL.into_iter().filter(|signal| ignored & (1 << (signal - 1)) == 0).collect()
    })
}

/// Signals that a process ignores, as a set of bits, from its `/proc/PID/status`.
fn ignored(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0)
}

/// Holds signals back until [`watch`] is called. Async-signal-safe and independent of library set-up, so it may run
/// before libraries' constructors.
pub extern "C" fn hold_back() {
    mask(libc::SIG_BLOCK);
}

/// Notes signals from now on, including those held back. Exceeding the limit on a file's size (`ulimit -f`) becomes an
/// error of the writing call, and no longer ends the process.
///
/// # Errors
/// If the system refuses a handler.
pub fn watch() -> Result<()> {
    for signal in ending() {
        let registered = signal_hook::flag::register(*signal, Arc::clone(&RECEIVED));
        registered.map_err(|e| Error::io("watch", Path::new("signals"), e))?;
    }
    // SAFETY: an ignored signal runs no code of ours.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    mask(libc::SIG_UNBLOCK);
    Ok(())
}

fn mask(how: i32) {
    // SAFETY: the set lives on the stack, and sigemptyset initialises it before anything else reads it.
    unsafe {
        let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        for signal in ALL {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        libc::sigprocmask(how, set.as_ptr(), std::ptr::null_mut());
    }
}

/// Restores the default actions of signals in this process, a forked child.
pub fn stop_watching() {
    for signal in ending() {
        // SAFETY: the default action runs no code of ours.
        unsafe { libc::signal(*signal, libc::SIG_DFL) };
    }
}

/// Lets signals pass without an effect in this process, a forked worker: its launcher, which may have received them, too, ends
/// it. Programs that the worker starts do not inherit a handler; they would inherit `SIG_IGN`.
pub fn leave_to_launcher() {
    for signal in ending() {
        // SAFETY: the handler does nothing. The C library sets SA_RESTART, so that calls of the system go on after it.
        unsafe { libc::signal(*signal, pass as *const () as libc::sighandler_t) };
    }
}

extern "C" fn pass(_signal: i32) {}

/// Whether a signal has come.
pub fn received() -> bool {
    RECEIVED.load(Ordering::SeqCst)
}

/// Returns an error if a signal has come. Long work calls this between two steps.
///
/// # Errors
/// [`ErrorKind::Interrupted`](crate::words::error::ErrorKind::Interrupted) if a signal has come.
pub fn check() -> Result<()> {
    if received() { Err(Error::interrupted()) } else { Ok(()) }
}

/// Unfinished output on the disk.
struct Output {
    id: u64,
    /// The folder, which is removed with everything in it.
    folder: PathBuf,
    /// Folders to remove afterwards if they are empty, the innermost first.
    parents: Vec<PathBuf>,
}

/// Marks output as unfinished: [`remove_unfinished`] removes it unless this value was dropped before.
#[derive(Debug)]
pub struct Unfinished(u64);

impl Unfinished {
    /// Marks a folder that is being filled, and the folders created to hold it, the outermost first.
    pub fn note(folder: PathBuf, parents: Vec<PathBuf>) -> Self {
        let mut outputs = UNFINISHED.lock();
        let id = outputs.last().map_or(0, |output| output.id + 1);
        outputs.push(Output { id, folder, parents });
        Unfinished(id)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        UNFINISHED.lock().retain(|output| output.id != self.0);
    }
}

/// Removes unfinished output, while other threads may still write to it. Call it right before the process ends.
pub fn remove_unfinished() {
    let outputs = std::mem::take(&mut *UNFINISHED.lock());
    for Output { folder, parents, .. } in outputs {
        // This fails where another thread has put a file into a folder just emptied; once the folder is gone, no thread
        // can.
        let gone = |_: &usize| fs::remove_dir_all(&folder).is_ok() || !folder.exists();
        (0..ATTEMPTS).find(gone);
        for parent in parents.iter().rev() {
            // This fails, as it should, if something else has been put there.
            let _ = fs::remove_dir(parent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read() {
        assert_eq!(ignored("Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t0\n"), 0x1001);
        assert_eq!(ignored(""), 0);
    }

    #[test]
    fn noted_folders_are_removed_until_they_are_finished() {
        let folder = tempfile::tempdir().unwrap();
        let [kept, gone] = ["kept", "gone"].map(|name| folder.path().join(name));
        for path in [&kept, &gone] {
            fs::create_dir_all(path.join("staging/part0")).unwrap();
        }
        let finished = Unfinished::note(kept.join("staging"), vec![kept.clone()]);
        let _unfinished = Unfinished::note(gone.join("staging"), vec![gone.clone()]);
        drop(finished);
        remove_unfinished();
        assert!(kept.join("staging/part0").exists() && !gone.exists());
    }
}

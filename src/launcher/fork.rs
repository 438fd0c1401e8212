//! Worker processes by fork.
#![allow(unsafe_code)] // fork and _exit

use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal, setpgid};

use crate::error::{Error, Result};

/// Forks a process that runs `work` and ends with the exit code it gives.
///
/// To be called while this process has one thread: a forked child has only the calling one, and locks held by others
/// would stay locked in it for ever. The child dies when this process dies, and is in a process group of its own, so that
/// Ctrl-C reaches this process alone.
pub(super) fn fork(work: impl FnOnce() -> u8) -> Result<Pid> {
    let parent = getpid();
    // SAFETY: this process has one thread (see above), so the child's memory is consistent.
    match unsafe { libc::fork() } {
        -1 => {
            let source = std::io::Error::last_os_error();
            Err(Error::io("fork", std::path::Path::new("a worker"), source))
        }
        0 => {
            let code = enter(parent).map_or(1, |()| work());
            // SAFETY: ends this process at once. Exit handlers and destructors of static objects belong to the parent.
            unsafe { libc::_exit(i32::from(code)) }
        }
        child => Pid::from_raw(child)
            .ok_or_else(|| Error::Internal("fork gave no process id".to_owned())),
    }
}

/// Whether this process has one thread, so that it may fork. True where the system does not tell.
pub(super) fn has_one_thread() -> bool {
    std::fs::read_dir("/proc/self/task").map_or(true, |tasks| tasks.count() == 1)
}

fn enter(parent: Pid) -> std::io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // If the parent died before the line above, nobody will tell.
    if getppid() != Some(parent) {
        return Err(std::io::ErrorKind::NotConnected.into());
    }
    Ok(setpgid(None, None)?)
}

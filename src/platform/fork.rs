//! Forking of child processes.
#![allow(unsafe_code)] // fork and _exit

use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal, setpgid};

use crate::platform::signals;
use crate::words::error::{Error, Result};

/// Forks a process ("a worker") that runs `work` and exits with the code that `work` returns.
///
/// A forked child has only the calling thread, and locks that other threads hold stay locked in the child for ever. So
/// either this process has one thread, or `work` takes no locks except the allocator's, which the C library keeps
/// usable. The child dies with this process, and has its own process group, so that Ctrl-C reaches this process only.
///
/// # Errors
/// If the system starts no more processes (`OutOfProcesses`).
pub fn fork(what: &str, work: impl FnOnce() -> u8) -> Result<Pid> {
    let parent = getpid();
    // SAFETY: this process has one thread, or the child touches nothing that another thread may have been changing (see above).
    match unsafe { libc::fork() } {
        -1 => Err(Error::no_process(what, &std::io::Error::last_os_error())),
        0 => {
            let code = enter(parent).map_or(1, |()| work());
            // SAFETY: ends this process at once. Exit handlers and destructors of static objects belong to the parent.
            unsafe { libc::_exit(i32::from(code)) }
        }
        child => Pid::from_raw(child).ok_or_else(|| Error::internal("fork returned no process id")),
    }
}

/// Number of threads of this process; 1 if the system does not report it.
pub fn num_threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count)
}

fn enter(parent: Pid) -> std::io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    signals::stop_watching();
    // If the parent died before the first call, no signal will come.
    if getppid() != Some(parent) {
        return Err(std::io::ErrorKind::NotConnected.into());
    }
    prefer_to_launcher();
    Ok(setpgid(None, None)?)
}

/// Asks the kernel to kill this worker rather than the launcher when memory runs out: the launcher can report a worker's end.
fn prefer_to_launcher() {
    const PATH: &str = "/proc/self/oom_score_adj";
    let own = std::fs::read_to_string(PATH).ok().and_then(|text| text.trim().parse::<i32>().ok());
    if let Some(own) = own {
        // Raising the score needs no privilege; where the system refuses it all the same, the kernel judges by size alone.
        let _ = std::fs::write(PATH, (own + 300).min(1000).to_string());
    }
}

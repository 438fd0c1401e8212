//! One command of the program, run in a forked child of the simulator.

use std::ffi::CStr;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use sar::engine::comm::machines::bring;

use super::board::{Counts, MACHINES, PER_MACHINE, board};
use super::fault::Fault;
use super::machines::{Machines, Sockets, connected};
use super::pausing::Pausing;
use super::trap;

/// Time after which a command counts as hanging, on a machine whose processors are not overcommitted.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time that processes may live after the launcher has ended, likewise.
const GRACE: Duration = Duration::from_secs(5);
/// The exit code of a panic that the program did not catch.
const PANICKED: i32 = 101;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Code(i32),
    Signal(i32),
    Hung,
}

/// The results of a command.
pub(crate) struct Ended {
    /// The launcher, or the first of several.
    pub(crate) status: Status,
    /// Ends of the other machines' launchers.
    pub(crate) others: Vec<Status>,
    pub(crate) stderr: String,
    /// Processes that outlived the launcher; they have been killed.
    pub(crate) strays: usize,
    /// The calls that each planned fault has struck.
    pub(crate) struck: Vec<Option<String>>,
    pub(crate) counts: Counts,
    /// Number of runs of the command all of whose ranks have paused: its own, and those that it was planned with.
    pub(crate) paused: usize,
    /// Whether a machine has lost its connections.
    pub(crate) cut: bool,
    /// Number of pieces that each machine has sent.
    pub(crate) pieces: [u64; MACHINES],
}

impl Ended {
    /// Whether another machine's launcher was killed.
    pub(crate) fn lost_launcher(&self) -> bool {
        self.others.iter().any(|status| matches!(status, Status::Signal(_)))
    }
}

/// Runs `sar-single` with these arguments. Calls on files below `roots` are counted and meet the planned faults.
pub(crate) fn run(arguments: &[String], roots: &[String], faults: &[Fault]) -> Ended {
    run_on(Machines::ONE, arguments, roots, faults, None)
}

/// Like [`run`], on several machines, which are processes that share all folders. `packing` is the value of `SAR_PACKING`.
pub(crate) fn run_on(
    machines: Machines,
    arguments: &[String],
    roots: &[String],
    faults: &[Fault],
    packing: Option<&CStr>,
) -> Ended {
    board().plan(faults, machines.cut);
    // SAFETY: the name is a C string; the call makes a descriptor.
    let descriptor = unsafe { libc::memfd_create(c"stderr".as_ptr(), 0) };
    // SAFETY: the descriptor was just made and belongs to this process alone.
    let mut stderr = unsafe { File::from_raw_fd(descriptor) };
    let mut ends = connected(machines.number);
    let mut launchers = Vec::new();
    for machine in 0..machines.number {
        // SAFETY: the simulator has one thread.
        match unsafe { libc::fork() } {
            -1 => panic!("fork: {}", std::io::Error::last_os_error()),
            0 => {
                let own = std::mem::take(&mut ends[machine]);
                drop(ends);
                if let Some(packing) = packing {
                    // SAFETY: this process has one thread.
                    unsafe { libc::setenv(c"SAR_PACKING".as_ptr(), packing.as_ptr(), 1) };
                }
                live(arguments, roots, &stderr, &machines, (machine, own))
            }
            child => launchers.push(child),
        }
    }
    drop(ends);
    let mut pausing = Pausing::planned(faults, roots);
    let status = wait(launchers[0], pausing.as_mut());
    let paused = pausing.map_or(0, |pausing| pausing.paused);
    let (strays, others) = reap_rest(&launchers[1..]);
    let mut text = Vec::new();
    stderr.rewind().unwrap();
    stderr.read_to_end(&mut text).unwrap();
    let stderr = String::from_utf8_lossy(&text).into_owned();
    let (struck, counts) = (board().struck(), board().counts());
    let (cut, pieces) = (board().is_cut(), board().pieces());
    Ended { status, others, stderr, strays, struck, counts, paused, cut, pieces }
}

/// The child: becomes the launcher of a machine.
fn live(
    arguments: &[String],
    roots: &[String],
    stderr: &File,
    machines: &Machines,
    (machine, ends): (usize, Vec<Option<UnixStream>>),
) -> ! {
    // SAFETY: these calls change this process only, and all descriptors are open.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::setpgid(0, 0);
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        libc::dup2(null, 0);
        libc::dup2(null, 1);
        libc::dup2(stderr.as_raw_fd(), 2);
    }
    if machines.number > 1 {
        bring(Box::new(Sockets::new(machine, ends, machines.seed)));
        // Forked processes would draw the same names for their folders.
        (0..100 * machine).for_each(|_| drop(tempfile::Builder::new().make(|_| Ok(()))));
    }
    trap::install(roots, machine * PER_MACHINE);
    let arguments = arguments.iter().map(Into::into);
    let code = catch_unwind(AssertUnwindSafe(|| sar::cli::run_from(arguments)));
    // SAFETY: ends this process, without the simulator's exit handlers.
    unsafe { libc::_exit(code.map_or(PANICKED, i32::from)) }
}

/// This time, longer where the processors are shared with other work.
fn stretched(time: Duration) -> Duration {
    let mut load = [0.0];
    // SAFETY: writes at most one number.
    let read = unsafe { libc::getloadavg(load.as_mut_ptr(), 1) };
    let processors = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    time.mul_f64(if read == 1 { (load[0] / processors).max(1.0) } else { 1.0 })
}

/// Waits for the launcher, whose run may have to be paused meanwhile.
fn wait(child: i32, mut pausing: Option<&mut Pausing>) -> Status {
    // SAFETY: a child of this process that has not been reaped.
    let watch = unsafe { libc::syscall(libc::SYS_pidfd_open, child, 0) } as i32;
    let mut ready = libc::pollfd { fd: watch, events: libc::POLLIN, revents: 0 };
    let begin = Instant::now();
    let ended = loop {
        let mut left = stretched(PATIENCE).saturating_sub(begin.elapsed());
        if let Some(pausing) = pausing.as_mut().filter(|_| !left.is_zero()) {
            pausing.look(child);
            left = Duration::from_millis(1);
        }
        // SAFETY: one valid entry.
        match unsafe { libc::poll(&raw mut ready, 1, left.as_millis() as i32) } {
            0 if begin.elapsed() >= stretched(PATIENCE) => break false,
            1 => break true,
            _ => {}
        }
    };
    let mut status = 0;
    // SAFETY: the descriptor was opened above; the child has not been reaped.
    unsafe {
        libc::close(watch);
        if !ended {
            libc::kill(child, libc::SIGKILL);
        }
        libc::waitpid(child, &raw mut status, 0);
    }
    if ended { Status::of(status) } else { Status::Hung }
}

impl Status {
    fn of(status: i32) -> Self {
        if libc::WIFEXITED(status) {
            return Status::Code(libc::WEXITSTATUS(status));
        }
        Status::Signal(libc::WTERMSIG(status))
    }
}

/// Makes this process the parent of processes whose parent dies, so that it sees them.
pub(crate) fn adopt_orphans() {
    // SAFETY: changes this process only.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
}

/// Waits for the other launchers, and for the processes that launchers have left to end; returns the number that had to be killed, and how these
/// launchers ended.
fn reap_rest(launchers: &[i32]) -> (usize, Vec<Status>) {
    let mut ends = vec![Status::Hung; launchers.len()];
    let mut status = 0;
    let mut note = |child: i32, status: i32| {
        if let Some(launcher) = launchers.iter().position(|launcher| *launcher == child) {
            ends[launcher] = Status::of(status);
        }
    };
    let begin = Instant::now();
    let mut killed = 0;
    loop {
        // SAFETY: this process has no children that anybody else waits for.
        match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) } {
            -1 => return (killed, ends),
            0 if begin.elapsed() > stretched(GRACE) => break,
            0 => std::thread::sleep(Duration::from_micros(500)),
            child => note(child, status),
        }
    }
    loop {
        let children = std::fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
        for child in children.split_whitespace().filter_map(|pid| pid.parse().ok()) {
            // SAFETY: a child of this process.
            unsafe { libc::kill(child, libc::SIGKILL) };
            killed += 1;
        }
        // SAFETY: as above.
        if unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) } < 0 {
            return (killed, ends);
        }
    }
}

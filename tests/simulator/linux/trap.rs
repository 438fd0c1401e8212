//! Catches every system call on files that a process makes, from whatever part of it: the standard library, a dependency,
//! libtorch or the C library.
//!
//! A seccomp filter turns these calls into a `SIGSYS`, whose handler counts it, applies a planned fault or makes the call
//! itself. Forked processes inherit both. So no call escapes for want of a hook, and the program under test is the one that
//! users run.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use super::board::{Strike, board};
use super::call::{Call, FilePath, Kind, MARK, Place, numbers};
use super::fault::Action;

/// The index of this process: that of the launcher for the one that installed the trap, then in the order of forks.
static PROCESS: AtomicUsize = AtomicUsize::new(0);
static FORKS: AtomicUsize = AtomicUsize::new(0);
/// The launcher of this machine.
static LAUNCHER: AtomicI32 = AtomicI32::new(0);
/// Folders whose files are watched.
static ROOTS: OnceLock<Vec<String>> = OnceLock::new();

/// Catches, from now on, all calls of this process, a launcher with this index, and of those it forks, on files below `roots`. There is no way
/// back.
pub(crate) fn install(roots: &[String], index: usize) {
    PROCESS.store(index, Ordering::SeqCst);
    FORKS.store(index, Ordering::SeqCst);
    LAUNCHER.store(std::process::id() as i32, Ordering::SeqCst);
    ROOTS.set(roots.to_vec()).expect("a process installs one trap");
    // SAFETY: both handlers only change atomic numbers.
    unsafe { libc::pthread_atfork(Some(before_fork), None, Some(in_child)) };
    // SAFETY: an empty sigaction is valid; the handler is an `extern "C"` function of the type that SA_SIGINFO asks for.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_call as *const () as usize;
        // Another signal may come while a call is made here, and its handler may also make calls.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
        assert_eq!(libc::sigaction(libc::SIGSYS, &raw const action, std::ptr::null_mut()), 0);
    }
    let mut filter = filter();
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the program outlives the calls, which copy it.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let mode = libc::SECCOMP_MODE_FILTER;
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program, 0, 0), 0, "seccomp");
    }
}

/// Traps all calls on files without the mark.
fn filter() -> Vec<libc::sock_filter> {
    /// Offsets in `struct seccomp_data` of the number of the call, and of the upper half of the last argument.
    const NUMBER: u32 = 0;
    const LAST_ARGUMENT: u32 = 16 + 5 * 8 + 4;
    let load = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    let equal = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    let answer = (libc::BPF_RET | libc::BPF_K) as u16;
    let line = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let allow = line(answer, 0, 0, libc::SECCOMP_RET_ALLOW);
    let mut lines = vec![
        line(load, 0, 0, LAST_ARGUMENT),
        line(equal, 0, 1, MARK),
        allow,
        line(load, 0, 0, NUMBER),
    ];
    let numbers: Vec<i64> = numbers().collect();
    for (i, number) in numbers.iter().enumerate() {
        lines.push(line(equal, (numbers.len() - i) as u8, 0, *number as u32));
    }
    lines.extend([allow, line(answer, 0, 0, libc::SECCOMP_RET_TRAP)]);
    lines
}

extern "C" fn before_fork() {
    FORKS.fetch_add(1, Ordering::SeqCst);
}

extern "C" fn in_child() {
    PROCESS.store(FORKS.load(Ordering::SeqCst), Ordering::SeqCst);
}

/// The handler of `SIGSYS`, which replaces the call that was trapped.
extern "C" fn on_call(_signal: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: errno belongs to this thread.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: the kernel passes the registers of the thread that made the call, for this handler alone.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let at = |register: c_int| registers[register as usize];
    let arguments = [libc::REG_RDI, libc::REG_RSI, libc::REG_RDX, libc::REG_R10, libc::REG_R8];
    let [a, b, c, d, e] = arguments.map(at);
    let call = Call { number: at(libc::REG_RAX), arguments: [a, b, c, d, e, at(libc::REG_R9)] };
    registers[libc::REG_RAX as usize] = instead_of(call);
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// The result of a call for the program.
fn instead_of(call: Call) -> i64 {
    let roots = ROOTS.get().map_or(&[][..], Vec::as_slice);
    let is_watched =
        |path: &FilePath| roots.iter().any(|root| path.as_bytes().starts_with(root.as_bytes()));
    let path = call.path().filter(is_watched);
    let path = path.map(|path| String::from_utf8_lossy(path.as_bytes()).into_owned());
    let known = path.and_then(|path| Some((call.kind()?, Place::of(&path)?, path)));
    let Some((kind, place, path)) = known else { return call.make() };
    let process = PROCESS.load(Ordering::SeqCst);
    match board().meet(process, call, (kind, place), &path) {
        Some(strike) => strike.strike(call, kind),
        None => call.make(),
    }
}

impl Strike {
    fn strike(self, call: Call, kind: Kind) -> i64 {
        match self.action {
            Action::DiskFull | Action::StaysFull => -i64::from(libc::ENOSPC),
            Action::Refuse if Action::DiskFull.kinds().contains(&kind) => -i64::from(libc::ENOSPC),
            Action::InputOutput | Action::Refuse => -i64::from(libc::EIO),
            Action::Signal => -i64::from(libc::EINTR),
            Action::Short | Action::ShortThenFull => half(call).make(),
            Action::Flip => {
                let written = call.make();
                flip(call, written, self.detail);
                written
            }
            Action::Kill => die(),
            Action::KillHalfway => {
                // The kernel lets a killed process complete a write to a page.
                let stops = matches!(kind, Kind::Write) && call.arguments[2] > 2 * 4096;
                if stops { half(call) } else { call }.make();
                die()
            }
            Action::KillLauncher => {
                signal_launcher(libc::SIGKILL);
                call.make()
            }
            Action::Interrupt => {
                signal_launcher(libc::SIGINT);
                call.make()
            }
            // The simulator does it, which looks at the board.
            Action::Pause | Action::PauseKill | Action::PauseInterrupt => call.make(),
        }
    }
}

/// The same call, on half of the bytes.
fn half(mut call: Call) -> Call {
    let halves = matches!(
        call.number,
        libc::SYS_read | libc::SYS_pread64 | libc::SYS_write | libc::SYS_pwrite64
    );
    if halves {
        // SAFETY: asks for the flags of a descriptor.
        let flags = unsafe { libc::fcntl(call.arguments[0] as c_int, libc::F_GETFL) };
        let unit = if flags & libc::O_DIRECT == 0 { 1 } else { 4096 };
        let half = call.arguments[2] / 2 / unit * unit;
        if half > 0 {
            call.arguments[2] = half;
        }
    }
    call
}

/// Flips one bit of the data that a call has written.
fn flip(call: Call, written: i64, detail: u64) {
    if written <= 0 {
        return;
    }
    let descriptor = call.arguments[0];
    let begin = match call.number {
        libc::SYS_pwrite64 => call.arguments[3],
        libc::SYS_write => {
            // SAFETY: asks for a position.
            unsafe { libc::lseek(descriptor as c_int, 0, libc::SEEK_CUR) - written }
        }
        _ => return,
    };
    let place = begin + (detail >> 8) as i64 % written;
    let path = format!("/proc/self/fd/{descriptor}\0");
    let path = path.as_ptr() as i64;
    let open = |number, arguments| Call { number, arguments }.make();
    let at_root = i64::from(libc::AT_FDCWD);
    let file = open(libc::SYS_openat, [at_root, path, i64::from(libc::O_RDWR), 0, 0, 0]);
    let mut byte = 0_u8;
    let bytes = &raw mut byte as i64;
    if open(libc::SYS_pread64, [file, bytes, 1, place, 0, 0]) == 1 {
        byte ^= 1 << (detail % 8);
        open(libc::SYS_pwrite64, [file, &raw const byte as i64, 1, place, 0, 0]);
    }
    // SAFETY: the descriptor was opened above.
    unsafe { libc::close(file as c_int) };
}

fn signal_launcher(signal: c_int) {
    let launcher = LAUNCHER.load(Ordering::SeqCst);
    // SAFETY: the launcher's process id; this process ends with it, so no other process has the number.
    unsafe { libc::kill(launcher, signal) };
}

fn die() -> ! {
    // SAFETY: ends this process.
    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    loop {
        std::thread::park();
    }
}

//! The program in forks of this process as it was before `main`. By then, libtorch has registered its operators, which takes a
//! quarter of a second of processor time wherever it is loaded: half of what a small run takes.
//!
//! For tests that look at results and output of commands. Tests of processes, signals, memory and terminals start the binary itself.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Output};

use assert_cmd::assert::{Assert, OutputAssertExt};
use serde::{Deserialize, Serialize};

/// The exit code of a panic.
const PANICKED: u8 = 101;

/// A command line of `sar-single`.
#[derive(Serialize, Deserialize)]
pub(crate) struct Program {
    words: Vec<OsString>,
    folder: Option<PathBuf>,
    variables: Vec<(OsString, OsString)>,
    /// Seconds after which the command is killed; 0: never.
    limit: u32,
    /// The folder that standard output and standard error are written to.
    outputs: PathBuf,
}

/// Runs a command line in a folder.
#[allow(dead_code)]
pub(crate) fn sar(folder: &Path, words: &str) -> Assert {
    Program::new().current_dir(folder).args(words.split_whitespace()).assert()
}

impl Program {
    pub(crate) fn new() -> Self {
        let words = vec!["sar-single".into()];
        Program { words, folder: None, variables: Vec::new(), limit: 0, outputs: PathBuf::new() }
    }

    #[allow(dead_code)]
    pub(crate) fn arg(&mut self, word: impl AsRef<OsStr>) -> &mut Self {
        self.words.push(word.as_ref().to_owned());
        self
    }

    pub(crate) fn args(&mut self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> &mut Self {
        self.words.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    #[allow(dead_code)]
    pub(crate) fn current_dir(&mut self, folder: impl AsRef<Path>) -> &mut Self {
        self.folder = Some(folder.as_ref().to_owned());
        self
    }

    #[allow(dead_code)]
    pub(crate) fn env(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> &mut Self {
        self.variables.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    #[allow(dead_code)]
    pub(crate) fn limit(&mut self, seconds: u32) -> &mut Self {
        self.limit = seconds;
        self
    }

    /// Runs the command to its end.
    pub(crate) fn output(&mut self) -> io::Result<Output> {
        let outputs = tempfile::tempdir()?;
        outputs.path().clone_into(&mut self.outputs);
        let mut server = UnixStream::connect_addr(&address(std::process::id())?)?;
        serde_json::to_writer(&server, self)?;
        server.shutdown(Shutdown::Write)?;
        let mut status = [0; 4];
        server.read_exact(&mut status)?;
        Ok(Output {
            status: ExitStatus::from_raw(i32::from_le_bytes(status)),
            stdout: fs::read(outputs.path().join("stdout"))?,
            stderr: fs::read(outputs.path().join("stderr"))?,
        })
    }

    #[allow(dead_code)]
    pub(crate) fn assert(&mut self) -> Assert {
        let output = self.output().unwrap();
        output.assert().append_context("command", format!("{:?}", self.words))
    }
}

/// The address on which the server of a process listens.
fn address(process: u32) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("sar-single-tests-{process}"))
}

#[used]
// SAFETY: the loader calls the pointers of this section before `main`, after the constructors of libraries.
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = start_server;

extern "C" fn start_server() {
    let listener = address(std::process::id()).and_then(|at| UnixListener::bind_addr(&at));
    // SAFETY: the process has one thread.
    match listener.map(|listener| (unsafe { libc::fork() }, listener)) {
        Ok((0, listener)) => serve(&listener),
        Ok((-1, _)) | Err(_) => {
            eprintln!("cannot start the server of sar-single: {}", io::Error::last_os_error());
        }
        Ok(_) => {}
    }
}

/// Answers requests until the process of the tests ends.
fn serve(listener: &UnixListener) -> ! {
    // SAFETY: these calls change this process only. The kernel reaps its children.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
    }
    loop {
        let Ok((client, _)) = listener.accept() else { continue };
        // SAFETY: the process has one thread.
        if unsafe { libc::fork() } == 0 {
            // SAFETY: nothing uses the descriptor in this process.
            unsafe { libc::close(listener.as_raw_fd()) };
            keep(client);
        }
    }
}

/// Runs one command in its own process, and reports how it ended.
fn keep(mut client: UnixStream) -> ! {
    // SAFETY: changes this process only.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    if let Ok(program) = serde_json::from_reader::<_, Program>(&client) {
        let mut status = 0;
        // SAFETY: the process has one thread.
        match unsafe { libc::fork() } {
            0 => {
                drop(client);
                let code = catch_unwind(|| live(program)).unwrap_or(PANICKED);
                sar::platform::leave(code);
            }
            // SAFETY: a child of this process that has not been reaped.
            child => unsafe { libc::waitpid(child, &raw mut status, 0) },
        };
        // A client that has gone needs no answer.
        let _ = client.write_all(&status.to_le_bytes());
    }
    // SAFETY: ends this process.
    unsafe { libc::_exit(0) }
}

/// The work of `main`, with the folder, variables and descriptors of the command.
fn live(program: Program) -> u8 {
    let output = |name| File::create(program.outputs.join(name)).unwrap();
    let files = [File::open("/dev/null").unwrap(), output("stdout"), output("stderr")];
    for (file, descriptor) in files.into_iter().zip(0..) {
        // SAFETY: both descriptors belong to this process, which has one thread.
        unsafe { libc::dup2(file.as_raw_fd(), descriptor) };
    }
    // SAFETY: these calls change this process only; the first as Rust's start does before `main`.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        libc::alarm(program.limit);
    }
    for (name, value) in &program.variables {
        // SAFETY: the process has one thread.
        unsafe { std::env::set_var(name, value) };
    }
    if let Some(folder) = &program.folder {
        std::env::set_current_dir(folder).unwrap();
    }
    sar::cli::run_from(program.words)
}

//! The one error type of the library and the exit codes of the program.
//!
//! Every message is a lowercase fragment that names the object (file, field, rank). Where there is a remedy, the error carries
//! it, and the command line prints it as a `hint:` line.

use std::io;
use std::path::{Path, PathBuf};

/// Everything that can go wrong in the library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Something the user gave is wrong: a file of a partition, a key, a flag's value.
    #[error("{}{}{problem}", place(path.as_deref()), place(field.as_deref().map(Path::new)))]
    Input {
        /// The file or folder that is wrong, if the error concerns one.
        path: Option<PathBuf>,
        /// The field inside the file, or the flag.
        field: Option<String>,
        /// What is wrong with it.
        problem: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// An I/O error on a file of the program's own (spill, exchange, output files).
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// A verb: "write", "create", ...
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error that the system reported.
        source: io::Error,
    },
    /// A file of the program's own that does not hold what was written to it.
    #[error("{}: {problem}", path.display())]
    Corrupt {
        /// The spill or exchange file.
        path: PathBuf,
        /// The mismatch that was found.
        problem: String,
    },
    /// An operation that libtorch refused, with its message.
    #[error("libtorch: {0}")]
    Tensor(String),
    /// A worker process that ended before its work was done. The text names rank, epoch, phase and cause.
    #[error("{problem}")]
    Worker {
        /// One sentence with rank, epoch, phase and cause.
        problem: String,
        /// What to do about it.
        hint: Option<String>,
        /// The exit code for this cause.
        exit: u8,
    },
    /// The user asked to stop (Ctrl-C, SIGTERM).
    #[error("interrupted")]
    Interrupted,
    /// Another rank failed, or the launcher asked to stop; this rank has nothing to add.
    #[error("stopped because another worker failed")]
    Aborted,
    /// A violated invariant of this program. Always a bug here, never the user's fault.
    #[error("internal error: {0}")]
    Internal(String),
}

/// The result of everything in this library that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

fn place(part: Option<&Path>) -> String {
    part.map(|p| format!("{}: ", p.display())).unwrap_or_default()
}

#[cfg(feature = "torch")]
impl From<tch::TchError> for Error {
    fn from(error: tch::TchError) -> Self {
        // The rest is a trace of C++ frames, which helps nobody here.
        let text = error.to_string();
        let message = text.split("\nException raised from").next().unwrap_or_default();
        Error::Tensor(message.trim().replace('\n', " "))
    }
}

impl Error {
    /// An error in the input file `path`, at `field` (empty: the file as a whole).
    pub fn input(path: &Path, field: &str, problem: impl Into<String>) -> Self {
        let field = (!field.is_empty()).then(|| field.to_owned());
        Error::Input { path: Some(path.to_owned()), field, problem: problem.into(), hint: None }
    }

    /// An error in the value of a flag or of a configuration field.
    pub fn config(field: &str, problem: impl Into<String>) -> Self {
        Error::Input {
            path: None,
            field: Some(field.to_owned()),
            problem: problem.into(),
            hint: None,
        }
    }

    /// An error that the system reported for a file of the program's own.
    pub fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Error::Io { action, path: path.to_owned(), source }
    }

    /// An error for a file of the program's own that does not hold what was written to it.
    pub fn corrupt(path: &Path, problem: impl Into<String>) -> Self {
        Error::Corrupt { path: path.to_owned(), problem: problem.into() }
    }

    /// An error for an input file that cannot be opened or read.
    pub fn unreadable(path: &Path, source: &io::Error) -> Self {
        Error::input(path, "", format!("cannot be read: {source}"))
    }

    /// An error for a thread or process ("a worker") that the system does not start.
    pub fn no_process(what: &str, source: &io::Error) -> Self {
        Error::Worker {
            problem: format!("cannot start {what}: {source}"),
            hint: Some(NO_PROCESS.to_owned()),
            exit: exit::OUT_OF_RESOURCES,
        }
    }

    /// Adds a remedy to an input error; other errors stay as they are.
    #[must_use]
    pub fn with_hint(mut self, text: impl Into<String>) -> Self {
        if let Error::Input { hint, .. } = &mut self {
            *hint = Some(text.into());
        }
        self
    }

    /// The remedy, where there is one.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Error::Input { hint, .. } | Error::Worker { hint, .. } => hint.as_deref(),
            Error::Io { source, .. } if is_disk_full(source) => Some(
                "free space there, or name a folder on a larger disk with --spill-dir or --out",
            ),
            _ => None,
        }
    }

    /// The exit code that tells a caller what kind of failure this is.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Input { .. } => exit::BAD_INPUT,
            Error::Io { source, .. } if is_disk_full(source) => exit::OUT_OF_RESOURCES,
            Error::Worker { exit, .. } => *exit,
            Error::Interrupted => exit::INTERRUPTED,
            _ => exit::WORKER_FAILED,
        }
    }
}

const NO_PROCESS: &str =
    "allow more processes (ulimit -u, or pids.max of the container), or lower --threads";

fn is_disk_full(source: &io::Error) -> bool {
    matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// The exit codes of `sar-single`.
pub mod exit {
    /// The command did what was asked.
    pub const DONE: u8 = 0;
    /// A file, a key or a value that the user gave is wrong.
    pub const BAD_INPUT: u8 = 1;
    /// The command line cannot be parsed (clap's own code).
    pub const BAD_USAGE: u8 = 2;
    /// A worker process died, or failed for a reason other than its input.
    pub const WORKER_FAILED: u8 = 3;
    /// The disk is full, a budget cannot be kept, or the system starts no more processes or threads.
    pub const OUT_OF_RESOURCES: u8 = 4;
    /// Ctrl-C or SIGTERM.
    pub const INTERRUPTED: u8 = 130;
}

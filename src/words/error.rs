//! The one error type of the library and the exit codes of the program.
//!
//! Every message is a lowercase fragment that names the object (file, field, rank). Where there is a remedy, the error carries
//! it, and the command line prints it as a `hint:` line. Messages name fields of configurations as [`crate::words::fields`]
//! describes.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::words::fields;

/// Everything that can go wrong in the library: a [kind](Error::kind) to match on, a message, and possibly a remedy.
pub struct Error(Box<Parts>);

struct Parts {
    kind: ErrorKind,
    /// The file or folder that is wrong.
    path: Option<PathBuf>,
    /// The field inside the file, or of a configuration.
    field: Option<String>,
    problem: String,
    hint: Option<String>,
    source: Option<io::Error>,
    /// Missing bytes of memory, if known; only in errors about memory.
    missing_memory: Option<u64>,
    /// Whether another process reports it.
    reported_elsewhere: bool,
}

/// The kind of an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file or folder that the user gave is wrong.
    Input,
    /// A field of a configuration, or an argument of a function, has a wrong value.
    Config,
    /// The system reported an error on one of the program's own files (spill, exchange, output files).
    Io,
    /// One of the program's own files has changed since it was written.
    Corrupt,
    /// A memory budget cannot be kept, or memory ran out.
    OutOfMemory,
    /// A disk has no room for the files of the run.
    OutOfDisk,
    /// The system starts no more processes or threads, or opens no more files.
    OutOfProcesses,
    /// libtorch refused an operation.
    Tensor,
    /// The loss or the weights are not finite.
    Diverged,
    /// A worker process ended before its work was done, without an error of its own, or its program broke a rule that all ranks
    /// have to follow.
    Worker,
    /// The user asked to stop (Ctrl-C, SIGTERM).
    Interrupted,
    /// Another rank failed, or the launcher asked to stop; this rank has nothing to add.
    Aborted,
    /// An invariant of this program is violated. Always a bug here, never the user's fault.
    Internal,
}

/// Text of an [`Error`], for another process or machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorRecord {
    /// The kind of the error.
    pub kind: ErrorKind,
    /// The error's message, with fields of configurations marked.
    pub problem: String,
    /// The error's remedy.
    pub hint: Option<String>,
}

impl From<&Error> for ErrorRecord {
    fn from(error: &Error) -> Self {
        let hint = error.marked_hint().map(str::to_owned);
        ErrorRecord { kind: error.kind(), problem: error.marked(), hint }
    }
}

impl From<ErrorRecord> for Error {
    fn from(ErrorRecord { kind, problem, hint }: ErrorRecord) -> Self {
        hint.into_iter().fold(Error::new(kind, problem), Error::with_hint)
    }
}

/// The result of everything in this library that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of a kind, with its message.
    pub fn new(kind: ErrorKind, problem: impl Into<String>) -> Self {
        let problem = problem.into();
        let (path, field, hint, source) = (None, None, None, None);
        let (missing_memory, reported_elsewhere) = (None, false);
        Error(Box::new(Parts {
            kind,
            path,
            field,
            problem,
            hint,
            source,
            missing_memory,
            reported_elsewhere,
        }))
    }

    /// An error in the input file `path`, at `field` (empty: the file as a whole).
    pub fn input(path: &Path, field: &str, problem: impl Into<String>) -> Self {
        let mut error = Error::new(ErrorKind::Input, problem);
        error.0.path = Some(path.to_owned());
        error.0.field = (!field.is_empty()).then(|| field.to_owned());
        error
    }

    /// An error in the value of a configuration's field, or of an argument.
    pub fn config(field: &str, problem: impl Into<String>) -> Self {
        let mut error = Error::new(ErrorKind::Config, problem);
        error.0.field = Some(field.to_owned());
        error
    }

    /// An error that the system reported for one of the program's own files.
    pub fn io(action: &str, path: &Path, source: io::Error) -> Self {
        let problem = format!("cannot {action} {}: {source}", path.display());
        let error = Error::shortage(&problem, &source);
        let mut error = error.unwrap_or_else(|| Error::new(ErrorKind::Io, problem));
        error.0.source = Some(source);
        error
    }

    /// An error for one of the program's own files whose content differs from what was written.
    pub fn corrupt(path: &Path, problem: impl Into<String>) -> Self {
        let mut error = Error::new(ErrorKind::Corrupt, problem);
        error.0.path = Some(path.to_owned());
        error
    }

    /// An error for an input file that cannot be opened or read.
    pub fn unreadable(path: &Path, source: &io::Error) -> Self {
        let problem = format!("{}: cannot be read: {source}", path.display());
        Error::shortage(&problem, source)
            .unwrap_or_else(|| Error::input(path, "", format!("cannot be read: {source}")))
    }

    /// An error for a file or folder that cannot be created at the path in `field`.
    pub fn uncreatable(path: &Path, field: &str, source: &io::Error) -> Self {
        let problem = format!("{}: cannot be created: {source}", path.display());
        Error::shortage(&problem, source).unwrap_or_else(|| {
            Error::input(path, "", format!("cannot be created: {source}"))
                .with_hint(format!("name another place with ‹{field}›"))
        })
    }

    /// The error `problem`, if the system has no more of something.
    pub(crate) fn shortage(problem: &str, source: &io::Error) -> Option<Self> {
        let (kind, hint) = match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                (ErrorKind::OutOfDisk, DISK_FULL)
            }
            io::ErrorKind::FileTooLarge => (ErrorKind::OutOfDisk, FILE_TOO_LARGE),
            _ if matches!(raw_os_error(source), Some(libc::EMFILE | libc::ENFILE)) => {
                (ErrorKind::OutOfProcesses, NO_FILE)
            }
            _ => return None,
        };
        Some(Error::new(kind, problem).with_hint(hint))
    }

    /// An error for a thread or process ("a worker") that the system does not start.
    pub fn no_process(what: &str, source: &io::Error) -> Self {
        Error::new(ErrorKind::OutOfProcesses, format!("cannot start {what}: {source}"))
            .with_hint(NO_PROCESS)
    }

    /// An error for a violated invariant.
    pub fn internal(problem: impl Into<String>) -> Self {
        Error::new(ErrorKind::Internal, problem)
    }

    /// The error for work that the user has stopped.
    pub fn interrupted() -> Self {
        Error::new(ErrorKind::Interrupted, "interrupted")
    }

    /// The error for a rank that stops because another rank failed.
    pub fn aborted() -> Self {
        Error::new(ErrorKind::Aborted, "stopped because another worker failed")
    }

    /// Adds the number of missing bytes of memory.
    #[must_use]
    pub(crate) fn missing_memory(mut self, bytes: u64) -> Self {
        self.0.missing_memory = Some(bytes);
        self
    }

    /// Number of missing bytes of memory, if known; only in errors about memory.
    pub(crate) fn memory_missing(&self) -> Option<u64> {
        self.0.missing_memory
    }

    /// Adds a remedy.
    #[must_use]
    pub fn with_hint(mut self, text: impl Into<String>) -> Self {
        self.0.hint = Some(text.into());
        self
    }

    /// The same error with another name for a file.
    #[must_use]
    pub(crate) fn renaming(mut self, file: &Path, name: &str) -> Self {
        let parts = &mut *self.0;
        if parts.path.as_deref() == Some(file) {
            parts.path = Some(name.into());
        }
        let path = file.display().to_string();
        parts.field = parts.field.take().map(|field| field.replace(&path, name));
        parts.problem = parts.problem.replace(&path, name);
        parts.hint = parts.hint.take().map(|hint| hint.replace(&path, name));
        self
    }

    /// The kind of failure.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The error, marked as reported by another process of the run.
    pub(crate) fn reported_elsewhere(mut self) -> Self {
        self.0.reported_elsewhere = true;
        self
    }

    /// Whether another process of the run reports the error.
    pub(crate) fn is_reported_elsewhere(&self) -> bool {
        self.0.reported_elsewhere
    }

    /// The file or folder that is wrong, if the error concerns one.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The field that is wrong: inside the file, or of a configuration.
    pub fn field(&self) -> Option<&str> {
        self.0.field.as_deref()
    }

    /// The error that the system reported, if it was one.
    pub fn io_error(&self) -> Option<&io::Error> {
        self.0.source.as_ref()
    }

    /// The remedy, where there is one.
    pub fn hint(&self) -> Option<String> {
        self.0.hint.as_deref().map(fields::plain)
    }

    /// The message in its original form, with fields of configurations marked.
    pub fn marked(&self) -> String {
        let Parts { kind, path, field, problem, .. } = &*self.0;
        let path = path.as_ref().map(|path| format!("{}: ", path.display())).unwrap_or_default();
        let field = match (field, kind) {
            (Some(field), ErrorKind::Config) => format!("{}: ", fields::mark(field)),
            (Some(field), _) => format!("{field}: "),
            (None, _) => String::new(),
        };
        let bug = if *kind == ErrorKind::Internal { "internal error: " } else { "" };
        format!("{bug}{path}{field}{problem}")
    }

    /// The remedy in its original form, with fields of configurations marked.
    pub fn marked_hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The exit code for this kind of failure.
    pub fn exit_code(&self) -> u8 {
        match self.kind() {
            ErrorKind::Input | ErrorKind::Config => exit::BAD_INPUT,
            ErrorKind::OutOfMemory | ErrorKind::OutOfDisk | ErrorKind::OutOfProcesses => {
                exit::OUT_OF_RESOURCES
            }
            ErrorKind::Interrupted => exit::INTERRUPTED,
            ErrorKind::Io
            | ErrorKind::Corrupt
            | ErrorKind::Tensor
            | ErrorKind::Diverged
            | ErrorKind::Worker
            | ErrorKind::Aborted
            | ErrorKind::Internal => exit::WORKER_FAILED,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&fields::plain(&self.marked()))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { kind, hint, source, .. } = &*self.0;
        let message = self.to_string();
        let mut debug = f.debug_struct("Error");
        debug.field("kind", kind).field("message", &message);
        debug.field("hint", hint).field("source", source).finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| source as _)
    }
}

/// The system's error number. Libraries that wrap an error keep only the text.
fn raw_os_error(error: &io::Error) -> Option<i32> {
    error.raw_os_error().or_else(|| {
        let text = error.to_string();
        let (_, rest) = text.split_once("(os error ")?;
        rest.split_once(')')?.0.parse().ok()
    })
}

const DISK_FULL: &str =
    "free space there, or name a folder on a larger disk with ‹spill_dir› or ‹out›";

const FILE_TOO_LARGE: &str = "allow larger files (ulimit -f)";

const NO_FILE: &str = "allow more open files (ulimit -n)";

const NO_PROCESS: &str =
    "allow more processes (ulimit -u, or pids.max of the container), or lower ‹threads›";

/// The exit codes of `sar-single`.
pub mod exit {
    /// The command succeeded.
    pub const DONE: u8 = 0;
    /// A file, a key or a value that the user gave is wrong.
    pub const BAD_INPUT: u8 = 1;
    /// The command line cannot be parsed (clap's own code).
    pub const BAD_USAGE: u8 = 2;
    /// A worker process died, or failed for a reason other than its input.
    pub const WORKER_FAILED: u8 = 3;
    /// The disk is full, a budget cannot be kept, or the system starts no more processes or threads, or opens no more files.
    pub const OUT_OF_RESOURCES: u8 = 4;
    /// Ctrl-C or SIGTERM.
    pub const INTERRUPTED: u8 = 130;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_keeps_its_hint_and_names_fields_of_the_library() {
        for kind in [ErrorKind::Io, ErrorKind::Internal, ErrorKind::Interrupted, ErrorKind::Tensor]
        {
            let error = Error::new(kind, "no").with_hint("lower ‹model.hidden›");
            assert_eq!(error.hint().as_deref(), Some("lower `model.hidden`"), "{kind:?}");
        }
        let error = Error::config("model.hidden", "must be ‹model.norm=layer›");
        assert_eq!(error.to_string(), "model.hidden: must be `model.norm = layer`");
        assert_eq!(error.marked(), "‹model.hidden›: must be ‹model.norm=layer›");
    }

    #[test]
    fn what_the_system_has_no_more_of_has_exit_code_4() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let error = Error::io("write", Path::new("x"), full());
        assert_eq!((error.kind(), error.exit_code()), (ErrorKind::OutOfDisk, 4));
        assert!(error.hint().unwrap().contains("spill_dir"));
        for (limit, hint) in [(libc::EFBIG, "ulimit -f"), (libc::EMFILE, "ulimit -n")] {
            let limited = || io::Error::from_raw_os_error(limit);
            for error in [
                Error::io("write", Path::new("x"), limited()),
                Error::unreadable(Path::new("x"), &limited()),
                Error::uncreatable(Path::new("x"), "out", &limited()),
            ] {
                assert_eq!(error.exit_code(), 4, "{error}");
                assert!(error.hint().unwrap().contains(hint), "{error:?}");
            }
        }
        let error = Error::io("write", Path::new("x"), io::ErrorKind::NotFound.into());
        assert_eq!((error.kind(), error.exit_code()), (ErrorKind::Io, 3));
    }
}

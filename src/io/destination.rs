//! Places that users name for a command's output files.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::result_file::ResultFile;
use crate::words::error::{Error, Result};

/// Name of standard output among files.
const STANDARD_OUTPUT: &str = "-";
/// Length of the longest chain of links, as in the kernel.
const MOST_LINKS: usize = 40;

/// Place of a file that a command writes. Every command finds it by the same rules.
///
/// * A regular file appears whole or not at all, and replaces an existing one only if the user says so.
/// * Through a link, the target is written, and the link stays.
/// * FIFOs, character devices and open files of this process (`/dev/stdout`, `/dev/fd/3`) take bytes as they come; `-`
///   is standard output.
/// * No folder is created: most missing folders are typing errors.
#[derive(Debug, Clone)]
pub struct Destination {
    /// The user's name for the file.
    name: PathBuf,
    kind: DestinationKind,
}

#[derive(Debug, Clone)]
enum DestinationKind {
    /// A regular file at this path, after following links; it may not exist yet.
    Regular(PathBuf),
    /// Standard output.
    StandardOutput,
    /// A sequential destination of bytes.
    Stream,
}

impl Destination {
    /// Finds the place that the user has named with `field`. A regular file may exist there only with `overwrite`.
    ///
    /// # Errors
    /// If nothing can be written there.
    pub fn find(name: &Path, field: &str, overwrite: bool) -> Result<Self> {
        let elsewhere = |path: &Path, problem: &str, hint: &str| {
            Error::input(path, "", problem).with_hint(format!("{hint} with ‹{field}›"))
        };
        let found = |kind| Ok(Destination { name: name.to_owned(), kind });
        let unreadable = |e| Error::unreadable(name, &e);
        if is_standard_output(name) {
            return found(DestinationKind::StandardOutput);
        }
        let path = followed(name).map_err(unreadable)?;
        let there = match fs::metadata(&path) {
            Ok(there) => there,
            Err(e) if e.kind() == ErrorKind::NotFound => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                let folder = folder.unwrap_or(Path::new("."));
                if !folder.is_dir() {
                    let hint = "create the folder, or name another place";
                    return Err(elsewhere(folder, "does not exist", hint));
                }
                if name.as_os_str().as_encoded_bytes().ends_with(b"/") {
                    return Err(elsewhere(name, "does not exist", "name a file"));
                }
                return found(DestinationKind::Regular(path));
            }
            Err(e) => return Err(unreadable(e)),
        };
        let kind = there.file_type();
        if kind.is_dir() {
            return Err(elsewhere(name, "is a folder", "name a file in it"));
        }
        if kind.is_fifo() || kind.is_char_device() || (kind.is_file() && is_of_a_process(&path)) {
            access(&path, Access::WRITE_OK).map_err(|e| Error::io("write", name, e.into()))?;
            return found(DestinationKind::Stream);
        }
        if !kind.is_file() {
            let problem = "is neither a file nor a FIFO nor a character device";
            return Err(elsewhere(name, problem, "name another place"));
        }
        if !overwrite {
            return Err(Error::input(name, "", "exists already").with_hint(format!(
                "name another file with ‹{field}›, or replace it with ‹overwrite›"
            )));
        }
        found(DestinationKind::Regular(path))
    }

    /// The path of the regular file, after following links; `None` for a destination that takes a stream of bytes.
    pub fn regular(&self) -> Option<&Path> {
        match &self.kind {
            DestinationKind::Regular(path) => Some(path),
            DestinationKind::StandardOutput | DestinationKind::Stream => None,
        }
    }

    /// Opens the place for writing. Opening a FIFO waits for its reader.
    ///
    /// # Errors
    /// If it cannot be opened (`Io`, `OutOfDisk`), or the command is interrupted.
    pub fn open(&self) -> Result<ResultFile> {
        match &self.kind {
            DestinationKind::Regular(path) => ResultFile::regular(path),
            DestinationKind::StandardOutput => ResultFile::standard_output(),
            DestinationKind::Stream => ResultFile::stream(&self.name),
        }
    }
}

/// Whether a user's name for a file means standard output: `-`, or the same open file (`/dev/stdout`).
pub fn is_standard_output(name: &Path) -> bool {
    if name == Path::new(STANDARD_OUTPUT) {
        return true;
    }
    let same = |there: Metadata, output: rustix::fs::Stat| {
        (there.dev(), there.ino()) == (output.st_dev, output.st_ino)
    };
    let output = rustix::fs::fstat(io::stdout().as_fd());
    fs::metadata(name).ok().zip(output.ok()).is_some_and(|(there, output)| same(there, output))
}

/// The path at the end of a chain of links. The end may be an open file of a process, which has no other path.
fn followed(name: &Path) -> io::Result<PathBuf> {
    let mut path = name.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(target) if !is_of_a_process(&path) => {
                path = path.parent().unwrap_or(Path::new("")).join(target);
            }
            _ => return Ok(path),
        }
    }
    Err(rustix::io::Errno::LOOP.into())
}

/// Whether a path leads to an open file of a process, such as `/proc/self/fd/3`.
fn is_of_a_process(path: &Path) -> bool {
    let folder = path.parent().map(fs::canonicalize);
    folder.is_some_and(|folder| folder.is_ok_and(|folder| folder.starts_with("/proc")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::fs::symlink;

    fn write(path: &Path, text: &str, overwrite: bool) -> Result<()> {
        let mut file = Destination::find(path, "out", overwrite)?.open()?;
        file.write_all(text.as_bytes()).unwrap();
        file.commit()
    }

    fn problem(path: &Path) -> String {
        write(path, "x", false).unwrap_err().to_string()
    }

    #[test]
    fn links_stay_and_existing_files_go_only_if_the_user_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("there")).unwrap();
        for (link, target) in [("first", "second"), ("second", "there/file"), ("loop", "loop")] {
            symlink(target, at(link)).unwrap();
        }
        write(&at("first"), "one", false).unwrap();
        assert!(problem(&at("first")).contains("exists already"));
        write(&at("second"), "two", true).unwrap();
        assert_eq!(fs::read_to_string(at("there/file")).unwrap(), "two");
        assert!(at("first").is_symlink() && at("second").is_symlink());
        assert!(problem(&at("there")).contains("is a folder"));
        assert!(problem(&at("missing/file")).contains("does not exist"));
        assert!(problem(&at("missing/")).contains("does not exist"));
        assert!(problem(&at("there/file/x")).contains("Not a directory"));
        assert!(problem(&at("loop")).contains("symbolic links"));
        assert_eq!(fs::read_dir(at("there")).unwrap().count(), 1);
        // Dropped without a commit.
        Destination::find(&at("new"), "out", false).unwrap().open().unwrap();
        assert!(!at("new").exists());
    }

    #[test]
    fn what_is_not_a_regular_file_takes_bytes_as_they_come() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        let mode = rustix::fs::Mode::from(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let text = "many bytes ".repeat(100_000);
        let reader = std::thread::spawn({
            let fifo = fifo.clone();
            move || {
                let mut read = String::new();
                fs::File::open(fifo).unwrap().read_to_string(&mut read).unwrap();
                read
            }
        });
        write(&fifo, &text, false).unwrap();
        assert_eq!(reader.join().unwrap(), text);
        assert!(fs::symlink_metadata(&fifo).unwrap().file_type().is_fifo());
        write(Path::new("/dev/null"), &text, false).unwrap();
        let full = Destination::find(Path::new("/dev/full"), "out", false).unwrap();
        assert!(full.open().unwrap().write_all(text.as_bytes()).is_err());

        // An open file of this process, behind a link.
        let log = folder.path().join("log");
        let file = fs::File::create(&log).unwrap();
        let link = folder.path().join("link");
        symlink(format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file)), &link).unwrap();
        write(&link, "one", false).unwrap();
        write(&link, "two", false).unwrap();
        assert_eq!(fs::read_to_string(&log).unwrap(), "onetwo");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }
}

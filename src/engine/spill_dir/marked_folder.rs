//! Detection and removal of folders that this program has created.
//!
//! A folder of ours contains a regular file `control`, owned by us, that begins with the magic of a control file. It is
//! created first and removed last. A process that removes the folder holds its lock until the folder is gone.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, openat, statat, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::engine::turns::Control;

/// Prefix of a folder's name.
pub(super) const PREFIX: &str = "sar-single-";
/// Prefix of a folder's name before its control file is locked, and again while its last files are removed.
pub(super) const UNFINISHED: &str = ".sar-single-";
/// The file that marks a folder.
pub(super) const CONTROL: &str = "control";
const CONTROL_C: &CStr = c"control";

/// Flags that do not follow symbolic links, and open a FIFO without waiting for its other end.
const CAREFULLY: OFlags =
    OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC).union(OFlags::RDONLY);

/// State of a folder with a name like ours.
#[derive(Debug)]
pub(super) enum MarkedFolder {
    /// The folder's process is alive, or may be.
    InUse,
    /// The folder's process is dead; we now hold the lock of its control file.
    Dead(DeadFolder),
    /// The folder is not ours, for the given reason.
    Foreign(&'static str),
}

/// A dead process's folder.
#[derive(Debug)]
pub(super) struct DeadFolder {
    dir: OwnedFd,
    /// The lock of the control file; `None` if the file is gone.
    _lock: Option<File>,
}

impl MarkedFolder {
    /// Examines a folder. An unfinished folder is abandoned if it is at least this old.
    pub(super) fn look(path: &Path, abandoned: Duration) -> io::Result<Self> {
        let found = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(found.st_mode) == FileType::Symlink {
            return Ok(Self::Foreign("it is a symbolic link"));
        }
        if found.st_uid != geteuid().as_raw() {
            return Ok(Self::Foreign("it belongs to another user"));
        }
        let dir = openat(CWD, path, CAREFULLY | OFlags::DIRECTORY, Mode::empty())?;
        let dir_stat = fstat(&dir)?;
        if (dir_stat.st_dev, dir_stat.st_ino) != (found.st_dev, found.st_ino) {
            // A process is using it.
            return Ok(Self::InUse);
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let unfinished = name.starts_with(UNFINISHED);
        // Read before locking, because the creating process may not have locked the file yet.
        let modified =
            SystemTime::UNIX_EPOCH + Duration::from_secs(dir_stat.st_mtime.max(0) as u64);
        if unfinished && modified.elapsed().is_ok_and(|age| age <= abandoned) {
            return Ok(Self::InUse);
        }
        let control = match openat(&dir, CONTROL_C, CAREFULLY, Mode::empty()) {
            Ok(control) => File::from(control),
            Err(Errno::NOENT) if unfinished && is_empty(&dir)? => {
                return Ok(Self::Dead(DeadFolder { dir, _lock: None }));
            }
            Err(Errno::NOENT) => return Ok(Self::Foreign("it has no control file")),
            Err(Errno::ACCESS) => return Ok(Self::Foreign("its control file may not be read")),
            // A socket.
            Err(Errno::NXIO) => return Ok(Self::Foreign("its control file is not a regular file")),
            Err(Errno::LOOP) => return Ok(Self::Foreign("its control file is a symbolic link")),
            Err(e) => return Err(e.into()),
        };
        let stat = fstat(&control)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Ok(Self::Foreign("its control file is not a regular file"));
        }
        if stat.st_uid != geteuid().as_raw() {
            return Ok(Self::Foreign("its control file belongs to another user"));
        }
        if control.try_lock().is_err() {
            return Ok(Self::InUse);
        }
        if fstat(&control)?.st_nlink == 0 {
            // Its process has removed it.
            return Ok(Self::InUse);
        }
        // A process that is killed while it creates the folder may leave only the beginning of a control file.
        let husk = || {
            Ok::<_, io::Error>(
                unfinished && Control::begins(&control)? && holds_only_control(&dir)?,
            )
        };
        if !Control::marks(&control)? && !husk()? {
            return Ok(Self::Foreign("its control file is not from sar-single"));
        }
        Ok(Self::Dead(DeadFolder { dir, _lock: Some(control) }))
    }
}

impl DeadFolder {
    /// Removes the folder.
    pub(super) fn remove(self, path: &Path) -> io::Result<()> {
        remove(path, &self.dir)
    }
}

/// Removes a folder of ours, opened as `dir`, whose control file is locked. Links in it are removed, not followed.
///
/// The control file is removed last, so that an interrupted removal can be resumed.
pub(super) fn remove(path: &Path, dir: &OwnedFd) -> io::Result<()> {
    remove_content(dir, Some(CONTROL_C))?;
    let now = match statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(()),
        stat => stat?,
    };
    let ours = fstat(dir)?;
    if (now.st_dev, now.st_ino) != (ours.st_dev, ours.st_ino) {
        return Err(io::Error::other("another folder has taken its place"));
    }
    let hidden = hidden(path);
    std::fs::rename(path, &hidden)?;
    ignore_missing(unlinkat(dir, CONTROL_C, AtFlags::empty()))?;
    std::fs::remove_dir(hidden)
}

/// Opens a folder of ours.
pub(super) fn open(path: &Path) -> io::Result<OwnedFd> {
    Ok(openat(CWD, path, CAREFULLY | OFlags::DIRECTORY, Mode::empty())?)
}

/// Name of a folder that does not have all its files yet, or no longer has them.
fn hidden(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match name.strip_prefix(PREFIX) {
        Some(rest) => path.with_file_name(format!("{UNFINISHED}{rest}")),
        None => path.to_owned(),
    }
}

fn remove_content(dir: &OwnedFd, keep: Option<&CStr>) -> io::Result<()> {
    for name in names(dir)? {
        let name = &*name;
        if Some(name) == keep {
            continue;
        }
        match unlinkat(dir, name, AtFlags::empty()) {
            Err(Errno::ISDIR) => {
                let inner = openat(dir, name, CAREFULLY | OFlags::DIRECTORY, Mode::empty())?;
                remove_content(&inner, None)?;
                ignore_missing(unlinkat(dir, name, AtFlags::REMOVEDIR))?;
            }
            removed => ignore_missing(removed)?,
        }
    }
    Ok(())
}

fn ignore_missing(removed: Result<(), Errno>) -> io::Result<()> {
    match removed {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

fn is_empty(dir: &OwnedFd) -> io::Result<bool> {
    Ok(names(dir)?.is_empty())
}

fn holds_only_control(dir: &OwnedFd) -> io::Result<bool> {
    Ok(names(dir)?.iter().all(|name| **name == *CONTROL_C))
}

/// The names in a folder.
fn names(dir: impl AsFd) -> io::Result<Vec<Box<CStr>>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        if ![c".", c".."].contains(&entry.file_name()) {
            names.push(entry.file_name().into());
        }
    }
    Ok(names)
}

//! System calls that touch files, and the files that they touch.

use std::ffi::{CStr, c_char};
use std::io::Write;

/// The kind of a call. The order is that of the columns in reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    Create,
    Open,
    Read,
    Write,
    Sync,
    Resize,
    Rename,
    Remove,
    MakeFolder,
    List,
    Inspect,
    Lock,
    /// Advice, permissions: calls that a program can do without.
    Optional,
}

pub(crate) const KINDS: [Kind; 13] = [
    Kind::Create,
    Kind::Open,
    Kind::Read,
    Kind::Write,
    Kind::Sync,
    Kind::Resize,
    Kind::Rename,
    Kind::Remove,
    Kind::MakeFolder,
    Kind::List,
    Kind::Inspect,
    Kind::Lock,
    Kind::Optional,
];

/// The purpose of the file that a call touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Place {
    /// The graph, or another file of the user's.
    Input,
    /// A rank's spilled values.
    Spill,
    /// A message between ranks.
    Message,
    /// Anything else in the spill folder.
    RunFolder,
    Checkpoint,
    /// Any other file of results.
    Results,
}

pub(crate) const PLACES: [Place; 6] = [
    Place::Input,
    Place::Spill,
    Place::Message,
    Place::RunFolder,
    Place::Checkpoint,
    Place::Results,
];

/// Names of folders inside the simulator's own, by which a path's place is known.
pub(crate) const INPUT: &str = "/input/";
pub(crate) const SPILL: &str = "/spill";
pub(crate) const OUT: &str = "/out";

impl Place {
    /// The place of a path inside the simulator's folder.
    pub(crate) fn of(path: &str) -> Option<Place> {
        let name = path.rsplit('/').next().unwrap_or_default();
        if path.contains(INPUT) {
            Some(Place::Input)
        } else if path.contains(SPILL) {
            Some(match name {
                _ if name.starts_with("outbox-") => Place::Message,
                _ if name.contains(".spill") => Place::Spill,
                _ => Place::RunFolder,
            })
        } else if path.contains(OUT) {
            Some(if name.contains("checkpoint") { Place::Checkpoint } else { Place::Results })
        } else {
            None
        }
    }
}

/// How a system call names its file.
#[derive(Debug, Clone, Copy)]
enum Target {
    Descriptor,
    Path,
    /// A path relative to the descriptor before it.
    PathIn,
}

/// System calls on files, with their kind and how they name the file.
const CALLS: [(i64, Kind, Target); 42] = [
    (libc::SYS_open, Kind::Open, Target::Path),
    (libc::SYS_openat, Kind::Open, Target::PathIn),
    (libc::SYS_creat, Kind::Create, Target::Path),
    (libc::SYS_read, Kind::Read, Target::Descriptor),
    (libc::SYS_pread64, Kind::Read, Target::Descriptor),
    (libc::SYS_readv, Kind::Read, Target::Descriptor),
    (libc::SYS_preadv, Kind::Read, Target::Descriptor),
    (libc::SYS_preadv2, Kind::Read, Target::Descriptor),
    (libc::SYS_write, Kind::Write, Target::Descriptor),
    (libc::SYS_pwrite64, Kind::Write, Target::Descriptor),
    (libc::SYS_writev, Kind::Write, Target::Descriptor),
    (libc::SYS_pwritev, Kind::Write, Target::Descriptor),
    (libc::SYS_pwritev2, Kind::Write, Target::Descriptor),
    (libc::SYS_sendfile, Kind::Write, Target::Descriptor),
    (libc::SYS_copy_file_range, Kind::Read, Target::Descriptor),
    (libc::SYS_fsync, Kind::Sync, Target::Descriptor),
    (libc::SYS_fdatasync, Kind::Sync, Target::Descriptor),
    (libc::SYS_sync_file_range, Kind::Sync, Target::Descriptor),
    (libc::SYS_ftruncate, Kind::Resize, Target::Descriptor),
    (libc::SYS_truncate, Kind::Resize, Target::Path),
    (libc::SYS_fallocate, Kind::Resize, Target::Descriptor),
    (libc::SYS_rename, Kind::Rename, Target::Path),
    (libc::SYS_renameat, Kind::Rename, Target::PathIn),
    (libc::SYS_renameat2, Kind::Rename, Target::PathIn),
    (libc::SYS_linkat, Kind::Rename, Target::PathIn),
    (libc::SYS_unlink, Kind::Remove, Target::Path),
    (libc::SYS_unlinkat, Kind::Remove, Target::PathIn),
    (libc::SYS_rmdir, Kind::Remove, Target::Path),
    (libc::SYS_mkdir, Kind::MakeFolder, Target::Path),
    (libc::SYS_mkdirat, Kind::MakeFolder, Target::PathIn),
    (libc::SYS_getdents64, Kind::List, Target::Descriptor),
    (libc::SYS_stat, Kind::Inspect, Target::Path),
    (libc::SYS_lstat, Kind::Inspect, Target::Path),
    (libc::SYS_fstat, Kind::Inspect, Target::Descriptor),
    (libc::SYS_newfstatat, Kind::Inspect, Target::PathIn),
    (libc::SYS_statx, Kind::Inspect, Target::PathIn),
    (libc::SYS_statfs, Kind::Inspect, Target::Path),
    (libc::SYS_fstatfs, Kind::Inspect, Target::Descriptor),
    (libc::SYS_flock, Kind::Lock, Target::Descriptor),
    (libc::SYS_fadvise64, Kind::Optional, Target::Descriptor),
    (libc::SYS_fchmod, Kind::Optional, Target::Descriptor),
    (libc::SYS_fchmodat, Kind::Optional, Target::PathIn),
];

/// The numbers of all system calls on files.
pub(crate) fn numbers() -> impl Iterator<Item = i64> {
    CALLS.iter().map(|(number, ..)| *number)
}

/// A system call with its arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    pub(crate) number: i64,
    pub(crate) arguments: [i64; 6],
}

/// The mark of a call that bypasses the trap, in the upper half of the last argument. No call on files uses that half.
pub(crate) const MARK: u32 = 0x5A52_C3A1;

impl Call {
    /// Makes the call; returns the kernel's result (`-errno` after an error).
    pub(crate) fn make(self) -> i64 {
        let [a, b, c, d, e, f] = self.arguments;
        let f = f & 0xFFFF_FFFF | i64::from(MARK) << 32;
        // SAFETY: the call is one that the program was about to make, with its own arguments, or one of those below.
        let result = unsafe { libc::syscall(self.number, a, b, c, d, e, f) };
        match result {
            // SAFETY: errno belongs to this thread.
            -1 => -i64::from(unsafe { *libc::__errno_location() }),
            result => result,
        }
    }

    pub(crate) fn kind(self) -> Option<Kind> {
        let (_, kind, _) = self.entry()?;
        let creates = |flags: i64| {
            flags & i64::from(libc::O_CREAT | libc::O_TMPFILE & !libc::O_DIRECTORY) != 0
        };
        let created = match self.number {
            libc::SYS_openat => creates(self.arguments[2]),
            libc::SYS_open => creates(self.arguments[1]),
            _ => false,
        };
        Some(if created { Kind::Create } else { kind })
    }

    fn entry(self) -> Option<(i64, Kind, Target)> {
        CALLS.iter().copied().find(|(number, ..)| *number == self.number)
    }

    /// The path of the file that the call touches. Nothing is allocated: the allocator makes calls on files, too, while it
    /// holds its lock.
    pub(crate) fn path(self) -> Option<FilePath> {
        let [first, second, ..] = self.arguments;
        let mut path = FilePath::default();
        match self.entry()?.2 {
            Target::Descriptor => path.push_descriptor(first)?,
            Target::Path => path.push(text(first)?)?,
            Target::PathIn => {
                let name = text(second)?;
                if !name.starts_with(b"/") {
                    path.push_descriptor(first)?;
                    if !name.is_empty() {
                        path.push(b"/")?;
                    }
                }
                path.push(name)?;
            }
        }
        Some(path)
    }

    /// The name of the system call.
    pub(crate) fn name(self) -> String {
        self.kind().map_or_else(String::new, |kind| format!("{kind:?} ({})", self.number))
    }
}

/// Bytes that a path has at most. Some threads have small stacks.
const LONGEST: usize = 512;

/// The bytes of a path, on the stack.
pub(crate) struct FilePath {
    bytes: [u8; LONGEST],
    len: usize,
}

impl Default for FilePath {
    fn default() -> Self {
        FilePath { bytes: [0; LONGEST], len: 0 }
    }
}

impl FilePath {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// `None` if the path becomes too long.
    fn push(&mut self, part: &[u8]) -> Option<()> {
        self.bytes.get_mut(self.len..self.len + part.len())?.copy_from_slice(part);
        self.len += part.len();
        Some(())
    }

    /// Adds the path of an open file.
    fn push_descriptor(&mut self, descriptor: i64) -> Option<()> {
        let mut link = [0; 32];
        write!(&mut link[..], "/proc/self/fd/{}", descriptor as i32).ok()?;
        let rest = &mut self.bytes[self.len..];
        // SAFETY: both pointers are valid for the call, and the link ends with a zero; readlink is not trapped.
        let len =
            unsafe { libc::readlink(link.as_ptr().cast(), rest.as_mut_ptr().cast(), rest.len()) };
        self.len += usize::try_from(len).ok()?;
        Some(())
    }
}

fn text<'a>(pointer: i64) -> Option<&'a [u8]> {
    if pointer == 0 {
        return None;
    }
    // SAFETY: the program passed this pointer to the kernel as a path, and waits for the call's end.
    Some(unsafe { CStr::from_ptr(pointer as *const c_char) }.to_bytes())
}

//! Files behind mappings.
#![allow(unsafe_code)] // reads and replaces this process's own mappings

use std::fs::{File, OpenOptions};
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, FallocateFlags, OFlags, fadvise, fallocate};
use rustix::mm::{Advice as MemoryAdvice, MapFlags, ProtFlags, madvise, mmap};
use sar::{Error, Result};

/// Files of blocks that the C library maps one by one are made this long, without blocks of the disk: it grows these mappings in
/// place, and what lies after its end has to be there. The largest length that common file systems admit.
const LENGTH: u64 = 1 << 43;

/// Bytes written at a time.
const PIECE: usize = 8 << 20;

/// A file that mappings of this process lie in. It is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Backing {
    path: PathBuf,
    file: File,
    direct: Option<File>,
    /// The parts that have been written, by offset.
    written: Vec<Range<u64>>,
}

impl Backing {
    /// Makes file `number` in a folder, for a mapping of `len` bytes that the C library may grow, or not.
    pub(super) fn create(folder: &Path, number: u64, len: u64, may_grow: bool) -> Result<Self> {
        let path = folder.join(number.to_string());
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o600);
        let file =
            options.create_new(true).open(&path).map_err(|e| Error::io("create", &path, e))?;
        // Smaller file systems admit less; then a mapping cannot grow by much. Zeros after an end would be read ahead.
        let grown = if may_grow {
            file.set_len(LENGTH).or_else(|_| file.set_len(len * 2))
        } else {
            file.set_len(len)
        };
        grown.map_err(|e| Error::io("create", &path, e))?;
        let direct =
            options.create_new(false).custom_flags(OFlags::DIRECT.bits() as i32).open(&path);
        Ok(Backing { path, file, direct: direct.ok(), written: Vec::new() })
    }

    /// Writes memory of this process to `offset` of the file. Allocates nothing and changes nothing in memory, which may be the
    /// very memory that is written.
    pub(super) fn write(&self, memory: &Range<usize>, offset: u64) -> Result<()> {
        for start in memory.clone().step_by(PIECE) {
            let len = PIECE.min(memory.end - start);
            // SAFETY: the range is mapped and readable, and only this thread runs, so that it is not changed or unmapped.
            let bytes = unsafe { std::slice::from_raw_parts(start as *const u8, len) };
            let at = offset + (start - memory.start) as u64;
            self.write_piece(bytes, at).map_err(|e| Error::io("write", &self.path, e))?;
        }
        Ok(())
    }

    fn write_piece(&self, bytes: &[u8], offset: u64) -> std::io::Result<()> {
        match self.direct.as_ref().map(|direct| direct.write_all_at(bytes, offset)) {
            None => self.file.write_all_at(bytes, offset),
            Some(Err(e)) if e.kind() == std::io::ErrorKind::InvalidInput => {
                self.file.write_all_at(bytes, offset)
            }
            Some(done) => done,
        }
    }

    /// Notes that a part of the file has been written.
    pub(super) fn note_written(&mut self, part: Range<u64>) {
        if !self.written.iter().any(|old| old.start <= part.start && part.end <= old.end) {
            self.written.push(part);
        }
    }

    /// Replaces a mapping of this process by the file, from `offset` on. What the mapping held has to be there already.
    pub(super) fn map_over(&self, range: &Range<usize>, offset: u64) -> Result<()> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
        let address = std::ptr::without_provenance_mut(range.start);
        // SAFETY: the range is a private mapping of this process whose content the file holds, so that nothing changes for
        // those who use it; no other thread writes to it meanwhile.
        let mapped = unsafe { mmap(address, range.len(), protection, flags, &self.file, offset) };
        mapped.map_err(|e| Error::io("map", &self.path, e.into()))?;
        Ok(())
    }

    /// Lets go of the pages of a mapping of this file, whose changes have been written.
    pub(super) fn drop_pages(&self, range: &Range<usize>) -> Result<()> {
        let address = std::ptr::without_provenance_mut(range.start);
        // SAFETY: a private mapping of this file; the pages that differ from the file have been written to it.
        let dropped = unsafe { madvise(address, range.len(), MemoryAdvice::LinuxDontNeed) };
        dropped.map_err(|e| Error::io("unmap pages of", &self.path, e.into()))
    }

    /// Takes what has just been written out of the page cache, if it went through there.
    pub(super) fn leave_cache_after_write(&self) -> Result<()> {
        if self.direct.is_some() { Ok(()) } else { self.leave_cache() }
    }

    /// Takes the file out of the page cache.
    pub(super) fn leave_cache(&self) -> Result<()> {
        let failed = |e: std::io::Error| Error::io("write", &self.path, e);
        if self.direct.is_none() {
            self.file.sync_data().map_err(failed)?;
        }
        fadvise(&self.file, 0, None, Advice::DontNeed).map_err(|e| failed(e.into()))
    }

    /// Gives back the disk space of all that no mapping reaches any more. `live` are the parts that mappings reach.
    pub(super) fn keep_only(&mut self, live: &[Range<u64>]) -> Result<()> {
        let mut kept = Vec::new();
        for part in std::mem::take(&mut self.written) {
            let mut at = part.start;
            let mut inside: Vec<_> = live
                .iter()
                .map(|l| l.start.max(part.start)..l.end.min(part.end))
                .filter(|l| l.start < l.end)
                .collect();
            inside.sort_unstable_by_key(|l| l.start);
            for l in &inside {
                self.punch(at..l.start)?;
                at = at.max(l.end);
            }
            self.punch(at..part.end)?;
            kept.extend(inside);
        }
        self.written = kept;
        Ok(())
    }

    fn punch(&self, part: Range<u64>) -> Result<()> {
        if part.start >= part.end {
            return Ok(());
        }
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match fallocate(&self.file, flags, part.start, part.end - part.start) {
            // A file system without holes keeps the space until the file goes.
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => Ok(()),
            Err(e) => Err(Error::io("free space of", &self.path, e.into())),
        }
    }
}

/// Lets go of the pages of a shared mapping of a file, which all processes read, and takes the file out of the page cache as far as none of
/// them is using it.
pub(super) fn leave_shared(range: &Range<usize>, path: &Path) -> Result<()> {
    let address = std::ptr::without_provenance_mut(range.start);
    // SAFETY: a shared mapping of a file of this run; its changes belong to the file.
    let dropped = unsafe { madvise(address, range.len(), MemoryAdvice::LinuxDontNeed) };
    let failed = |e: std::io::Error| Error::io("write", path, e);
    dropped.map_err(|e| failed(e.into()))?;
    let file = match File::open(path) {
        Ok(file) => file,
        // The process that owns it has removed it.
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(failed(e)),
    };
    file.sync_data().map_err(failed)?;
    fadvise(&file, 0, None, Advice::DontNeed).map_err(|e| failed(e.into()))
}

impl Drop for Backing {
    fn drop(&mut self) {
        // What remains goes with the run's folder.
        let _ = std::fs::remove_file(&self.path);
    }
}

//! The memory that goes to disk at a pause, and the memory that stays.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use sar::platform::blocks::{forget, release, reusable};
use sar::platform::{give_memory_back, resident_bytes};
use sar::{Error, Result};

use super::backing::{Backing, leave_shared};
use super::mapping::{Kind, Mapping, cut, mappings, shared_arrays, split};
use super::pages::{Held, PageMap};

/// Memory of the process before it was forked is looked at page by page: runs of its own pages from this size on go to disk.
const RUN: u64 = 128 << 10;

/// Bytes that always stay in memory: the interpreter touches them in every turn, and they would have to be read again page by page.
const KEPT: u64 = 16 << 20;

/// A large mapping goes to disk in pieces of this size, so that no more of it does than has to.
const PIECE: usize = 32 << 20;

/// Number of pauses after which memory from before the fork is looked at again.
const LOOK: u64 = 32;

/// More than any process takes, for a system that does not count: pages are looked at in every pause then.
const UNKNOWN: u64 = 1 << 47;

/// Whether this process has forked another one since it was last put to sleep.
static FORKED: AtomicBool = AtomicBool::new(false);

/// Notes that this process has forked another one, which may live on and reads the same files.
pub(crate) fn note_fork() {
    FORKED.store(true, Ordering::Relaxed);
}

/// Puts this process's memory on disk. Used by one thread while no other one runs.
pub(crate) struct Sleeper {
    folder: PathBuf,
    pages: PageMap,
    /// Memory that was mapped when the process was forked, and may still be shared with its parent.
    inherited: Vec<Range<usize>>,
    /// Bytes of that memory that have been written to since, when it was last looked at.
    copied: u64,
    backings: BTreeMap<u64, Backing>,
    /// Files of the heap and of memory from before the fork.
    small: BTreeSet<u64>,
    next: u64,
    /// Files with lower numbers may be mapped by processes that this one has forked: their content stays.
    shared: u64,
    pauses: u64,
    last: Look,
}

/// Memory of the process when its pages were last looked at.
#[derive(Debug, Clone, Copy)]
struct Look {
    /// Bytes that the kernel counts, with code and memory from before the fork.
    resident: u64,
    /// Bytes that can go to disk.
    own: u64,
}

/// A part of a mapping that can go to disk.
struct Piece {
    mapping: Mapping,
    held: Held,
    /// Whether it lies in memory from before the fork.
    inherited: bool,
    /// Whether it holds small blocks: the heap, and memory from before the fork.
    small: bool,
}

impl Sleeper {
    /// A sleeper for a process that has just been forked; its files go to a new folder.
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        std::fs::create_dir(folder).map_err(|e| Error::io("create", folder, e))?;
        // As `/proc/self/maps` names the files.
        let folder = folder.canonicalize().map_err(|e| Error::io("find", folder, e))?;
        let inherited = mappings(&folder)?.into_iter().map(|mapping| mapping.range).collect();
        let pages = PageMap::open()?;
        Ok(Sleeper {
            folder,
            pages,
            inherited,
            copied: 0,
            backings: BTreeMap::new(),
            small: BTreeSet::new(),
            next: 0,
            shared: 0,
            pauses: 0,
            last: Look { resident: resident_bytes().unwrap_or(0), own: 0 },
        })
    }

    /// Writes memory to disk, the oldest first, until no more is left than `room` gives for the bytes that this process has of its
    /// own; gives the bytes that stay in memory. Blocks that wait for their next use stay if they take little of this rank's
    /// `share`, which messages need, too.
    ///
    /// Pages are looked at only if memory may have to go: until then, the process is taken to have grown by as much as the kernel
    /// counts anyway.
    ///
    /// # Errors
    /// If the disk fails or is full. All memory is as it was then.
    pub(crate) fn sleep(&mut self, share: u64, room: impl FnOnce(&[u64]) -> u64) -> Result<u64> {
        self.pauses += 1;
        if FORKED.swap(false, Ordering::Relaxed) {
            self.shared = self.next;
        }
        let all = self.pauses.is_power_of_two() || self.pauses.is_multiple_of(LOOK);
        if all {
            self.copied = self.look_at_inherited()?;
        }
        if self.estimate() > share / 2 {
            release();
        }
        let estimate = self.estimate();
        let keep = room(&[estimate.saturating_sub(reusable()), estimate]).max(KEPT);
        if estimate <= keep {
            return Ok(estimate);
        }
        // These are on disk already, and freed memory would be written, too.
        self.leave_shared_arrays()?;
        give_memory_back();
        let estimate = self.estimate();
        if estimate <= keep {
            return Ok(estimate);
        }
        forget();
        self.write_until(keep)
    }

    /// Bytes of this process's own, at most.
    fn estimate(&self) -> u64 {
        let Look { resident, own } = self.last;
        let Some(now) = resident_bytes() else { return UNKNOWN };
        (own + now).saturating_sub(resident) + self.copied
    }

    /// Lets go of the arrays that all ranks share: indexes of samples, columns and tensors of the program's own.
    fn leave_shared_arrays(&self) -> Result<()> {
        let run = self.folder.parent().unwrap_or(&self.folder);
        for (range, path) in shared_arrays(run)? {
            leave_shared(&range, &path)?;
        }
        Ok(())
    }

    fn write_until(&mut self, keep: u64) -> Result<u64> {
        let mut pieces = self.pieces(mappings(&self.folder)?)?;
        if self.separate(&pieces)? {
            pieces = self.pieces(mappings(&self.folder)?)?;
        }
        self.drop_unreachable(&pieces)?;
        // What was allocated last is used first: a backward pass goes back from there. The system gives addresses downwards. The heap
        // and memory from before the fork are the interpreter's, which needs them in every turn.
        pieces.sort_by_key(|piece| match piece.mapping.kind {
            Kind::Anonymous => (piece.small, u64::MAX, Reverse(piece.mapping.range.start)),
            Kind::Backed(number) => (piece.small, number, Reverse(piece.mapping.range.start)),
        });
        let own = |pieces: &[Piece], inherited| -> u64 {
            let those = pieces.iter().filter(|piece| piece.inherited == inherited);
            those.map(|piece| piece.held.resident).sum()
        };
        let mut left = own(&pieces, false) + self.copied;
        for piece in pieces.iter().filter(|piece| piece.held.resident > 0) {
            if left <= keep {
                break;
            }
            let freed = self.put(piece)?;
            left = left.saturating_sub(freed);
            if piece.inherited {
                self.copied = self.copied.saturating_sub(freed);
            }
        }
        self.last =
            Look { resident: resident_bytes().unwrap_or(0), own: left.saturating_sub(self.copied) };
        Ok(left)
    }

    /// Bytes of memory from before the fork that have been copied since.
    fn look_at_inherited(&self) -> Result<u64> {
        let mut copied = 0;
        for mapping in mappings(&self.folder)? {
            for (range, inherited) in split(&mapping.range, &self.inherited) {
                if inherited && mapping.kind == Kind::Anonymous {
                    copied += self.pages.held(&range, true)?.own;
                }
            }
        }
        Ok(copied)
    }

    /// Gives a file of its own to each mapping that reaches the same part of a file as another one, as both may have changed it.
    /// Says whether there was one.
    fn separate(&mut self, pieces: &[Piece]) -> Result<bool> {
        let mut seen: BTreeMap<u64, Vec<Range<u64>>> = BTreeMap::new();
        let mut found = false;
        for Piece { mapping, .. } in pieces {
            let Kind::Backed(number) = mapping.kind else { continue };
            let part = mapping.offset..mapping.offset + mapping.len() as u64;
            let parts = seen.entry(number).or_default();
            if parts.iter().any(|seen| seen.start < part.end && part.start < seen.end) {
                self.put_in_file(&mapping.range, true, true)?;
                found = true;
            } else {
                parts.push(part);
            }
        }
        Ok(found)
    }

    /// Memory that can go to disk, that from before the fork included if it is known to hold anything.
    fn pieces(&self, mappings: Vec<Mapping>) -> Result<Vec<Piece>> {
        let mut pieces = Vec::new();
        for mapping in mappings {
            if let Kind::Backed(number) = mapping.kind {
                let held = self.pages.held(&mapping.range, false)?;
                let small = self.small.contains(&number);
                pieces.push(Piece { mapping, held, inherited: false, small });
                continue;
            }
            for (range, inherited) in split(&mapping.range, &self.inherited) {
                if inherited && self.copied == 0 {
                    continue;
                }
                let size = if inherited || mapping.heap { range.len() } else { PIECE };
                for range in cut(&range, size) {
                    let held = self.pages.held(&range, inherited)?;
                    if held.own > 0 {
                        let mapping = Mapping { range, ..mapping.clone() };
                        let small = inherited || mapping.heap;
                        pieces.push(Piece { mapping, held, inherited, small });
                    }
                }
            }
        }
        Ok(pieces)
    }

    /// Frees the disk space of what has been unmapped.
    fn drop_unreachable(&mut self, pieces: &[Piece]) -> Result<()> {
        let mut live: BTreeMap<u64, Vec<Range<u64>>> = BTreeMap::new();
        for Piece { mapping, .. } in pieces {
            if let Kind::Backed(number) = mapping.kind {
                let part = mapping.offset..mapping.offset + mapping.len() as u64;
                live.entry(number).or_default().push(part);
            }
        }
        self.backings.retain(|number, _| live.contains_key(number));
        self.small.retain(|number| live.contains_key(number));
        for (number, backing) in self.backings.range_mut(self.shared..) {
            backing.keep_only(&live[number])?;
        }
        Ok(())
    }

    /// Puts a piece on disk; gives the bytes of memory that this frees.
    fn put(&mut self, piece: &Piece) -> Result<u64> {
        let Piece { mapping, held, inherited, .. } = piece;
        let range = &mapping.range;
        if let Kind::Backed(number) = mapping.kind {
            if number < self.shared && held.own > 0 {
                let number = self.put_in_file(range, true, !piece.small)?;
                self.small.extend(piece.small.then_some(number));
                return Ok(held.resident);
            }
            let backing = self.backings.get_mut(&number).ok_or_else(|| {
                Error::internal(format!("a mapping lies in the unknown file {number}"))
            })?;
            // From here to the mapping's end nothing may be allocated: the change would be lost where the range is the heap.
            self.pages.each_run(range, false, &mut |run| {
                let offset = mapping.offset + (run.start - range.start) as u64;
                backing.write(&run, offset)
            })?;
            backing.drop_pages(range)?;
            backing.note_written(mapping.offset..mapping.offset + range.len() as u64);
            backing.leave_cache()?;
            return Ok(held.resident);
        }
        if !inherited {
            if held.own < RUN {
                return Ok(0);
            }
            let number = self.put_in_file(range, false, !piece.small)?;
            self.small.extend(piece.small.then_some(number));
            return Ok(held.resident);
        }
        let mut runs = Vec::new();
        self.pages.each_run(range, true, &mut |run| {
            runs.extend((run.len() as u64 >= RUN).then_some(run));
            Ok(())
        })?;
        for run in &runs {
            let number = self.put_in_file(run, true, false)?;
            self.small.insert(number);
        }
        let freed: u64 = runs.iter().map(|run| run.len() as u64).sum();
        Ok(freed.min(held.resident))
    }

    /// Moves a range, which the C library may grow or not, to a new file: the `whole` of it, or the pages that are not zero. Gives the
    /// file's number.
    fn put_in_file(&mut self, range: &Range<usize>, whole: bool, may_grow: bool) -> Result<u64> {
        let number = self.next;
        self.next += 1;
        let len = range.len() as u64;
        let mut backing = Backing::create(&self.folder, number, len, may_grow)?;
        // From here to the mapping nothing may be allocated: the change would be lost where the range is the heap.
        if whole {
            backing.write(range, 0)?;
        } else {
            self.pages.each_run(range, false, &mut |run| {
                backing.write(&run, (run.start - range.start) as u64)
            })?;
        }
        backing.map_over(range, 0)?;
        backing.note_written(0..len);
        backing.leave_cache_after_write()?;
        self.backings.insert(number, backing);
        Ok(number)
    }
}

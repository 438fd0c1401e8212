//! What goes to disk at a pause, and what stays.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use sar::platform::give_memory_back;
use sar::{Error, Result};

use super::backing::Backing;
use super::mapping::{Kind, Mapping, mappings};
use super::pages::{Held, PageMap};

/// Memory of the process before it was forked is looked at page by page: runs of its own pages from this size on go to disk.
const RUN: u64 = 128 << 10;

/// So much stays in memory in any case: what the interpreter touches in every turn, and would have to be read again page by page.
const KEPT: u64 = 16 << 20;

/// Puts this process's memory on disk. Used by one thread while no other one runs.
pub(crate) struct Sleeper {
    folder: PathBuf,
    pages: PageMap,
    /// What was mapped when the process was forked, and what it was forked from may still share.
    inherited: Vec<Range<usize>>,
    backings: BTreeMap<u64, Backing>,
    /// Files of the heap and of memory from before the fork.
    small: BTreeSet<u64>,
    next: u64,
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
            backings: BTreeMap::new(),
            small: BTreeSet::new(),
            next: 0,
        })
    }

    /// Writes memory to disk, the oldest first, until no more is left than `room` gives for the bytes that this process has of its
    /// own; gives the bytes that stay in memory.
    ///
    /// # Errors
    /// If the disk fails or is full. All memory is as it was then.
    pub(crate) fn sleep(&mut self, room: impl FnOnce(u64) -> u64) -> Result<u64> {
        give_memory_back();
        self.separate()?;
        let mut pieces = self.pieces()?;
        self.drop_unreachable(&pieces)?;
        // What was allocated last is used first: a backward pass goes back from there. The heap and memory from before the fork
        // are the interpreter's, which needs them in every turn.
        pieces.sort_by_key(|piece| match piece.mapping.kind {
            Kind::Anonymous => (piece.small, u64::MAX),
            Kind::Backed(number) => (piece.small, number),
        });
        let mut left: u64 = pieces.iter().map(|piece| piece.held.resident).sum();
        let keep = room(left).max(KEPT);
        for piece in pieces.iter().filter(|piece| piece.held.resident > 0) {
            if left <= keep {
                break;
            }
            left -= self.put(piece)?;
        }
        Ok(left)
    }

    /// Gives a file of its own to each mapping that reaches the same part of a file as another one, as both may have changed it.
    fn separate(&mut self) -> Result<()> {
        let mut seen: Vec<(u64, Range<u64>)> = Vec::new();
        for mapping in mappings(&self.folder)? {
            let Kind::Backed(number) = mapping.kind else { continue };
            let part = mapping.offset..mapping.offset + mapping.len() as u64;
            let shared = seen.iter().any(|(other, seen)| {
                *other == number && seen.start < part.end && part.start < seen.end
            });
            if shared {
                self.put_in_file(&mapping.range, true)?;
            } else {
                seen.push((number, part));
            }
        }
        Ok(())
    }

    /// What can go to disk.
    fn pieces(&self) -> Result<Vec<Piece>> {
        let mut pieces = Vec::new();
        for mapping in mappings(&self.folder)? {
            if let Kind::Backed(number) = mapping.kind {
                let held = self.pages.held(&mapping.range, false)?;
                let small = self.small.contains(&number);
                pieces.push(Piece { mapping, held, inherited: false, small });
                continue;
            }
            for (range, inherited) in split(&mapping.range, &self.inherited) {
                let held = self.pages.held(&range, inherited)?;
                if held.own == 0 {
                    continue;
                }
                let mapping = Mapping { range, ..mapping.clone() };
                let small = inherited || mapping.heap;
                pieces.push(Piece { mapping, held, inherited, small });
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
        for (number, backing) in &mut self.backings {
            backing.keep_only(&live[number])?;
        }
        Ok(())
    }

    /// Puts a piece on disk; gives the bytes of memory that this frees.
    fn put(&mut self, piece: &Piece) -> Result<u64> {
        let Piece { mapping, held, inherited, .. } = piece;
        let range = &mapping.range;
        if let Kind::Backed(number) = mapping.kind {
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
            let number = self.put_in_file(range, false)?;
            self.small.extend(piece.small.then_some(number));
            return Ok(held.resident);
        }
        let mut runs = Vec::new();
        self.pages.each_run(range, true, &mut |run| {
            runs.extend((run.len() as u64 >= RUN).then_some(run));
            Ok(())
        })?;
        for run in &runs {
            let number = self.put_in_file(run, true)?;
            self.small.insert(number);
        }
        let freed: u64 = runs.iter().map(|run| run.len() as u64).sum();
        Ok(freed.min(held.resident))
    }

    /// Moves a range to a new file, the `whole` of it or the pages that are not zero; gives the file's number.
    fn put_in_file(&mut self, range: &Range<usize>, whole: bool) -> Result<u64> {
        let number = self.next;
        self.next += 1;
        let mut backing = Backing::create(&self.folder, number, range.len() as u64)?;
        // From here to the mapping nothing may be allocated: the change would be lost where the range is the heap.
        if whole {
            backing.write(range, 0)?;
        } else {
            self.pages.each_run(range, false, &mut |run| {
                backing.write(&run, (run.start - range.start) as u64)
            })?;
        }
        backing.map_over(range, 0)?;
        backing.note_written(0..range.len() as u64);
        backing.leave_cache()?;
        self.backings.insert(number, backing);
        Ok(number)
    }
}

/// A range cut where memory from before the fork begins and ends; with each part, whether it is such memory.
fn split(range: &Range<usize>, inherited: &[Range<usize>]) -> Vec<(Range<usize>, bool)> {
    let mut parts = Vec::new();
    let mut at = range.start;
    for old in inherited.iter().filter(|old| old.start < range.end && range.start < old.end) {
        if at < old.start {
            parts.push((at..old.start, false));
        }
        parts.push((at.max(old.start)..old.end.min(range.end), true));
        at = old.end;
    }
    if at < range.end {
        parts.push((at..range.end, false));
    }
    parts
}

//! Sorting of more rows of numbers than fit in memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use rustix::fs::{FallocateFlags, fallocate};

use super::key_layout::KeyLayout;
use super::unnamed_file::{UnnamedFile, UnnamedWriter};
use crate::words::error::{Error, Result};

/// Bytes of a key in memory.
const KEY: usize = size_of::<u128>();

/// Smallest and largest number of bytes read of a run at a time.
const BUFFER: (usize, usize) = (4 << 10, 4 << 20);

/// Granularity in bytes of giving back disk space.
const PAGE: u64 = 4 << 10;
/// Smallest number of bytes given back at a time.
const GIVEN_BACK: u64 = 1 << 20;

/// An external merge sort, which takes rows of `N` numbers in any order. Sorted runs lie in one unnamed file, which
/// disappears with the process, however the process ends; rows that fit in memory never go there. The merge gives back
/// the disk space of runs as it reads them.
///
/// Each row is a key, stored in as many bytes as its bits need.
#[derive(Debug)]
pub(crate) struct ExternalSort<const N: usize> {
    folder: PathBuf,
    layout: KeyLayout<N>,
    capacity: usize,
    keys: Vec<u128>,
    file: Option<UnnamedWriter>,
    /// Offset in the file at which each run ends.
    ends: Vec<u64>,
}

impl<const N: usize> ExternalSort<N> {
    /// A sort of rows with numbers below `limits`, which takes about `memory` bytes of memory, and disk space in `folder`.
    pub(crate) fn new(folder: &Path, limits: [u64; N], memory: u64) -> Result<Self> {
        Ok(ExternalSort {
            folder: folder.to_owned(),
            layout: KeyLayout::new(limits)?,
            capacity: (memory as usize / KEY).max(1 << 10),
            keys: Vec::new(),
            file: None,
            ends: Vec::new(),
        })
    }

    pub(crate) fn push(&mut self, row: [u64; N]) -> Result<()> {
        if self.keys.len() == self.capacity {
            self.flush()?;
        }
        if self.keys.len() == self.keys.capacity() {
            // The buffer doubles, but never beyond the memory it may take.
            let more = self.keys.len().max(1 << 10).min(self.capacity - self.keys.len());
            self.keys.reserve_exact(more);
        }
        self.keys.push(self.layout.pack(row));
        Ok(())
    }

    /// Ends the input.
    pub(crate) fn finish(mut self) -> Result<SortedRows<N>> {
        let layout = self.layout;
        if self.ends.is_empty() {
            self.keys.par_sort_unstable();
            return Ok(SortedRows { layout, keys: SortedKeys::Memory(self.keys.into_iter()) });
        }
        self.flush()?;
        let memory = self.capacity * KEY;
        self.keys = Vec::new();
        let Some(file) = self.file else {
            return Err(Error::internal("runs without a file"));
        };
        let room = (memory / self.ends.len()).clamp(BUFFER.0, BUFFER.1);
        let key_bytes = layout.bytes();
        let mut merge = Merge {
            file: file.finish()?,
            key_bytes,
            room: room / key_bytes * key_bytes,
            runs: Vec::new(),
            heads: BinaryHeap::new(),
        };
        let mut start = 0_u64;
        for end in self.ends {
            let kept = start.next_multiple_of(PAGE);
            merge.runs.push(Run { place: start, end, kept, buffer: Vec::new(), at: 0 });
            start = end;
        }
        for run in 0..merge.runs.len() {
            if let Some(key) = merge.read(run)? {
                merge.heads.push(Reverse((key, run)));
            }
        }
        Ok(SortedRows { layout, keys: SortedKeys::Runs(merge) })
    }

    fn flush(&mut self) -> Result<()> {
        if self.keys.is_empty() {
            return Ok(());
        }
        self.keys.par_sort_unstable();
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(UnnamedWriter::create(&self.folder)?),
        };
        let key_bytes = self.layout.bytes();
        for key in &self.keys {
            file.write(&key.to_le_bytes()[..key_bytes])?;
        }
        let begin = self.ends.last().copied().unwrap_or(0);
        self.ends.push(begin + (self.keys.len() * key_bytes) as u64);
        self.keys.clear();
        Ok(())
    }
}

/// Rows in ascending order.
#[derive(Debug)]
pub(crate) struct SortedRows<const N: usize> {
    layout: KeyLayout<N>,
    keys: SortedKeys,
}

#[derive(Debug)]
enum SortedKeys {
    /// All keys, in memory.
    Memory(std::vec::IntoIter<u128>),
    /// Runs to merge.
    Runs(Merge),
}

impl<const N: usize> SortedRows<N> {
    /// Returns the next row; equal rows come as often as they were pushed.
    pub(crate) fn next(&mut self) -> Result<Option<[u64; N]>> {
        let key = match &mut self.keys {
            SortedKeys::Memory(keys) => keys.next(),
            SortedKeys::Runs(merge) => merge.next()?,
        };
        Ok(key.map(|key| self.layout.unpack(key)))
    }
}

/// A merge of sorted runs.
#[derive(Debug)]
struct Merge {
    file: UnnamedFile,
    key_bytes: usize,
    /// Bytes read of a run at a time.
    room: usize,
    runs: Vec<Run>,
    heads: BinaryHeap<Reverse<(u128, usize)>>,
}

#[derive(Debug)]
struct Run {
    place: u64,
    end: u64,
    /// Offset up to which the run has given back its disk space.
    kept: u64,
    buffer: Vec<u8>,
    at: usize,
}

impl Run {
    /// Gives back the disk space of the pages that have been read.
    fn give_back(&mut self, file: &File) {
        let read = self.place / PAGE * PAGE;
        let Some(len) = read.checked_sub(self.kept).filter(|len| *len >= GIVEN_BACK) else {
            return;
        };
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        // A failure costs only space: a file system without holes keeps it until the end.
        let _ = fallocate(file, hole, self.kept, len);
        self.kept = read;
    }
}

impl Merge {
    fn next(&mut self) -> Result<Option<u128>> {
        let Some(&Reverse((key, run))) = self.heads.peek() else { return Ok(None) };
        let following = self.read(run)?;
        if let Some(mut head) = self.heads.peek_mut() {
            match following {
                Some(following) => *head = Reverse((following, run)),
                None => drop(PeekMut::pop(head)),
            }
        }
        Ok(Some(key))
    }

    fn read(&mut self, run: usize) -> Result<Option<u128>> {
        if self.runs[run].at == self.runs[run].buffer.len() {
            self.runs[run].give_back(&self.file.file);
        }
        let Run { place, end, buffer, at, .. } = &mut self.runs[run];
        if *at == buffer.len() {
            let count = (*end - *place).min(self.room as u64);
            if count == 0 {
                *buffer = Vec::new();
                *at = 0;
                return Ok(None);
            }
            buffer.resize(count as usize, 0);
            self.file.read_at(buffer, *place)?;
            *place += count;
            *at = 0;
        }
        let mut bytes = [0; KEY];
        bytes[..self.key_bytes].copy_from_slice(&buffer[*at..*at + self.key_bytes]);
        *at += self.key_bytes;
        Ok(Some(u128::from_le_bytes(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use proptest::prelude::*;

    fn sorted<const N: usize>(rows: &[[u64; N]], limits: [u64; N], memory: u64) -> Vec<[u64; N]> {
        let folder = tempfile::tempdir().unwrap();
        let mut sort = ExternalSort::new(folder.path(), limits, memory).unwrap();
        for &row in rows {
            sort.push(row).unwrap();
        }
        let mut sorted = sort.finish().unwrap();
        let mut found = Vec::new();
        while let Some(row) = sorted.next().unwrap() {
            found.push(row);
        }
        found
    }

    #[test]
    fn many_runs_come_out_as_one() {
        let rows: Vec<[u64; 1]> = (0..50_000).map(|at| [at * 7919 % 30_011]).collect();
        let mut expected = rows.clone();
        expected.sort_unstable();
        assert_eq!(sorted(&rows, [1 << 15], 0), expected);
        assert_eq!(sorted(&rows, [1 << 15], 1 << 30), expected);
    }

    #[test]
    fn the_merge_gives_disk_space_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut sort = ExternalSort::new(folder.path(), [u64::MAX; 2], 4 << 20).unwrap();
        let keys = 4 << 20 >> 1;
        for key in 0..keys {
            sort.push([0, key * 7919 % keys]).unwrap();
        }
        let SortedKeys::Runs(mut merge) = sort.finish().unwrap().keys else { panic!("one run") };
        let blocks = |merge: &Merge| merge.file.file.metadata().unwrap().blocks();
        let all = blocks(&merge);
        for key in 0..keys {
            assert_eq!(merge.next().unwrap(), Some(u128::from(key)));
        }
        assert!(blocks(&merge) < all / 4, "{} of {all} blocks are left", blocks(&merge));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn any_rows_are_sorted(rows in prop::collection::vec(any::<[u64; 2]>(), 0..5000)) {
            let mut expected = rows.clone();
            expected.sort_unstable();
            prop_assert_eq!(sorted(&rows, [u64::MAX; 2], 0), expected);
        }
    }
}

//! Sorting of more numbers than fit in memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use rustix::fs::{FallocateFlags, fallocate};

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

/// An external merge sort, which takes keys in any order. Sorted runs lie in one unnamed file, which disappears with
/// the process, however the process ends; keys that fit in memory never go there. The merge gives back the disk space
/// of runs as it reads them.
///
/// Each key is stored in as many bytes as its bits need.
#[derive(Debug)]
pub(crate) struct ExternalSort {
    folder: PathBuf,
    key_bytes: usize,
    capacity: usize,
    keys: Vec<u128>,
    file: Option<UnnamedWriter>,
    /// Offset in the file at which each run ends.
    ends: Vec<u64>,
}

impl ExternalSort {
    /// A sort of keys of `bits` bits, which takes about `memory` bytes of memory, and disk space in `folder`.
    pub(crate) fn new(folder: &Path, bits: u32, memory: u64) -> Self {
        let capacity = (memory as usize / KEY).max(1 << 10);
        ExternalSort {
            folder: folder.to_owned(),
            key_bytes: bits.div_ceil(8).clamp(1, 16) as usize,
            capacity,
            keys: Vec::new(),
            file: None,
            ends: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, key: u128) -> Result<()> {
        if self.keys.len() == self.capacity {
            self.flush()?;
        }
        if self.keys.len() == self.keys.capacity() {
            // The buffer doubles, but never beyond the memory it may take.
            let more = self.keys.len().max(1 << 10).min(self.capacity - self.keys.len());
            self.keys.reserve_exact(more);
        }
        self.keys.push(key);
        Ok(())
    }

    /// Ends the input.
    pub(crate) fn finish(mut self) -> Result<SortedKeys> {
        if self.ends.is_empty() {
            self.keys.par_sort_unstable();
            return Ok(SortedKeys::Memory(self.keys.into_iter()));
        }
        self.flush()?;
        let memory = self.capacity * KEY;
        self.keys = Vec::new();
        let Some(file) = self.file else {
            return Err(Error::internal("runs without a file"));
        };
        let room = (memory / self.ends.len()).clamp(BUFFER.0, BUFFER.1);
        let mut merge = Merge {
            file: file.finish()?,
            key_bytes: self.key_bytes,
            room: room / self.key_bytes * self.key_bytes,
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
        Ok(SortedKeys::Runs(merge))
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
        for key in &self.keys {
            file.write(&key.to_le_bytes()[..self.key_bytes])?;
        }
        let begin = self.ends.last().copied().unwrap_or(0);
        self.ends.push(begin + (self.keys.len() * self.key_bytes) as u64);
        self.keys.clear();
        Ok(())
    }
}

/// Keys in ascending order.
#[derive(Debug)]
pub(crate) enum SortedKeys {
    /// All keys, in memory.
    Memory(std::vec::IntoIter<u128>),
    /// Runs to merge.
    Runs(Merge),
}

impl SortedKeys {
    /// Returns the next key; equal keys come as often as they were pushed.
    pub(crate) fn next(&mut self) -> Result<Option<u128>> {
        match self {
            SortedKeys::Memory(keys) => Ok(keys.next()),
            SortedKeys::Runs(merge) => merge.next(),
        }
    }
}

/// A merge of sorted runs.
#[derive(Debug)]
pub(crate) struct Merge {
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

    fn sorted(keys: &[u128], bits: u32, memory: u64) -> Vec<u128> {
        let folder = tempfile::tempdir().unwrap();
        let mut sort = ExternalSort::new(folder.path(), bits, memory);
        for &key in keys {
            sort.push(key).unwrap();
        }
        let mut sorted = sort.finish().unwrap();
        let mut found = Vec::new();
        while let Some(key) = sorted.next().unwrap() {
            found.push(key);
        }
        found
    }

    #[test]
    fn many_runs_come_out_as_one() {
        let keys: Vec<u128> = (0..50_000u128).map(|at| at * 7919 % 30_011).collect();
        let mut expected = keys.clone();
        expected.sort_unstable();
        assert_eq!(sorted(&keys, 15, 0), expected);
        assert_eq!(sorted(&keys, 15, 1 << 30), expected);
    }

    #[test]
    fn the_merge_gives_disk_space_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut sort = ExternalSort::new(folder.path(), 128, 4 << 20);
        let keys = 4 << 20 >> 1;
        for key in 0..keys {
            sort.push(key * 7919 % keys).unwrap();
        }
        let SortedKeys::Runs(mut merge) = sort.finish().unwrap() else { panic!("one run") };
        let blocks = |merge: &Merge| merge.file.file.metadata().unwrap().blocks();
        let all = blocks(&merge);
        for key in 0..keys {
            assert_eq!(merge.next().unwrap(), Some(key));
        }
        assert!(blocks(&merge) < all / 4, "{} of {all} blocks are left", blocks(&merge));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn any_keys_are_sorted(keys in prop::collection::vec(any::<u128>(), 0..5000)) {
            let mut expected = keys.clone();
            expected.sort_unstable();
            prop_assert_eq!(sorted(&keys, 128, 0), expected);
        }
    }
}

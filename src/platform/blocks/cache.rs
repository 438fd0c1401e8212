//! Blocks for reuse.

use std::collections::BTreeMap;

/// A reused block may be longer than asked for by 1/`SLACK` of the length.
const SLACK: usize = 16;

/// A block of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryBlock {
    /// Address of the first byte.
    pub address: usize,
    /// Length in bytes.
    pub len: usize,
}

/// The large blocks of a process: in use, or waiting for reuse.
///
/// Together they never exceed the most that was in use at a time, so waiting blocks do not raise the peak.
#[derive(Debug)]
pub(super) struct Cache {
    /// Length in bytes by address.
    used: BTreeMap<usize, usize>,
    /// Waiting blocks, the last freed last.
    waiting: Vec<MemoryBlock>,
    used_bytes: usize,
    most_used: usize,
    /// Bytes that the process may keep. Blocks wait only if this is at least the most that was ever in use at a time,
    /// because they add to the peaks of other memory.
    room: usize,
}

impl Cache {
    pub(super) const fn new() -> Self {
        Cache {
            used: BTreeMap::new(),
            waiting: Vec::new(),
            used_bytes: 0,
            most_used: 0,
            room: usize::MAX,
        }
    }

    /// Sets the number of bytes that the process may keep; returns the blocks to free.
    pub(super) fn set_room(&mut self, room: usize) -> Vec<MemoryBlock> {
        self.room = room;
        self.excess()
    }

    /// Takes out the waiting blocks if they have no room.
    fn excess(&mut self) -> Vec<MemoryBlock> {
        if self.room < self.most_used { self.take_waiting() } else { Vec::new() }
    }

    /// Takes the waiting block that fits `len` bytes best.
    pub(super) fn take(&mut self, len: usize) -> Option<MemoryBlock> {
        let fits = |block: &MemoryBlock| block.len >= len && block.len - len <= len / SLACK;
        let waiting = self.waiting.iter().enumerate().rev().filter(|(_, block)| fits(block));
        let (place, _) = waiting.min_by_key(|(_, block)| block.len)?;
        let block = self.waiting.remove(place);
        self.insert(block);
        Some(block)
    }

    /// Takes out the waiting blocks that must be freed before a new one of `len` bytes is made, the first freed first.
    pub(super) fn make_room(&mut self, len: usize) -> Vec<MemoryBlock> {
        let all = self.used_bytes + self.waiting_bytes() + len;
        self.take_oldest(all.saturating_sub(self.most_used))
    }

    /// Takes out waiting blocks of at least `bytes` bytes in all, the first freed first.
    fn take_oldest(&mut self, bytes: usize) -> Vec<MemoryBlock> {
        let (mut taken, mut count) = (0, 0);
        while taken < bytes && count < self.waiting.len() {
            taken += self.waiting[count].len;
            count += 1;
        }
        self.waiting.drain(..count).collect()
    }

    /// Notes a block in use.
    pub(super) fn insert(&mut self, block: MemoryBlock) {
        self.used.insert(block.address, block.len);
        self.used_bytes += block.len;
        self.most_used = self.most_used.max(self.used_bytes);
    }

    /// Lets a block that was in use wait, and returns the blocks to free for it, which may include itself; `None` if
    /// the block is not the cache's.
    pub(super) fn give_back(&mut self, address: usize) -> Option<Vec<MemoryBlock>> {
        let len = self.used.remove(&address)?;
        self.used_bytes -= len;
        self.waiting.push(MemoryBlock { address, len });
        Some(self.excess())
    }

    /// Forgets the blocks in use: they will be freed without waiting.
    pub(super) fn forget(&mut self) {
        self.used.clear();
        self.used_bytes = 0;
        self.most_used = 0;
    }

    /// Takes out all waiting blocks.
    pub(super) fn take_waiting(&mut self) -> Vec<MemoryBlock> {
        std::mem::take(&mut self.waiting)
    }

    pub(super) fn waiting_bytes(&self) -> usize {
        self.waiting.iter().map(|block| block.len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    /// A cache with blocks in use of these sizes in MiB; each block's address equals its length.
    fn cache(sizes: &[usize]) -> Cache {
        let mut cache = Cache::new();
        for size in sizes {
            cache.insert(MemoryBlock { address: size * MIB, len: size * MIB });
        }
        cache
    }

    fn sizes(blocks: &[MemoryBlock]) -> Vec<usize> {
        blocks.iter().map(|block| block.len / MIB).collect()
    }

    #[test]
    fn a_block_is_used_again_for_about_its_length() {
        let mut cache = cache(&[64, 66, 100]);
        assert_eq!(cache.give_back(1), None);
        for size in [100, 66, 64] {
            assert_eq!(cache.give_back(size * MIB), Some(vec![]));
        }
        assert_eq!(cache.take(101 * MIB), None);
        assert_eq!(cache.take(50 * MIB), None);
        // The shortest block that is long enough.
        for (len, found) in [(63, 64), (63, 66), (95, 100)] {
            assert_eq!(cache.take(len * MIB).unwrap().len, found * MIB);
        }
        assert_eq!(cache.waiting_bytes(), 0);
    }

    #[test]
    fn waiting_blocks_leave_before_more_is_taken_than_was_ever_in_use() {
        let mut cache = cache(&[10, 20, 30]);
        cache.give_back(20 * MIB);
        cache.give_back(30 * MIB);
        assert_eq!(cache.make_room(0), vec![]);
        assert_eq!(sizes(&cache.make_room(15 * MIB)), [20]);
        cache.insert(MemoryBlock { address: 1, len: 15 * MIB });
        assert_eq!(sizes(&cache.make_room(6 * MIB)), [30]);
    }

    #[test]
    fn blocks_wait_only_where_the_most_that_was_ever_in_use_may_be_kept() {
        let mut cache = cache(&[10, 20, 30]);
        assert_eq!(cache.set_room(60 * MIB), vec![]);
        assert_eq!(cache.give_back(10 * MIB), Some(vec![]));
        assert_eq!(sizes(&cache.set_room(59 * MIB)), [10]);
        assert_eq!(sizes(&cache.give_back(30 * MIB).unwrap()), [30]);
        assert_eq!(cache.set_room(60 * MIB), vec![]);
        assert_eq!(cache.give_back(20 * MIB), Some(vec![]));
        assert_eq!(sizes(&cache.take_waiting()), [20]);
    }
}

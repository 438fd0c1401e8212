//! Which blocks can be used again.

use std::collections::BTreeMap;

/// A block that is used again may be longer than asked for by this part of the length.
const SLACK: usize = 16;

/// A block: where it begins, and its length in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Where it begins.
    pub address: usize,
    /// Its length in bytes.
    pub len: usize,
}

/// The large blocks of a process: those in use, and those that wait for their next use.
///
/// Both together never exceed the most that was in use at a time, so that waiting blocks do not raise the peak.
#[derive(Debug, Default)]
pub(super) struct Cache {
    /// Bytes by address.
    used: BTreeMap<usize, usize>,
    /// The block freed last comes last.
    waiting: Vec<Block>,
    used_bytes: usize,
    most_used: usize,
}

impl Cache {
    pub(super) const fn new() -> Self {
        Cache { used: BTreeMap::new(), waiting: Vec::new(), used_bytes: 0, most_used: 0 }
    }

    /// Takes the waiting block that fits `len` bytes best.
    pub(super) fn take(&mut self, len: usize) -> Option<Block> {
        let fits = |block: &Block| block.len >= len && block.len - len <= len / SLACK;
        let waiting = self.waiting.iter().enumerate().rev().filter(|(_, block)| fits(block));
        let (place, _) = waiting.min_by_key(|(_, block)| block.len)?;
        let block = self.waiting.remove(place);
        self.insert(block);
        Some(block)
    }

    /// Takes out the waiting blocks that have to be freed before a new one of `len` bytes is made, those freed first.
    pub(super) fn make_room(&mut self, len: usize) -> Vec<Block> {
        let mut excess =
            (self.used_bytes + self.waiting_bytes() + len).saturating_sub(self.most_used);
        let mut count = 0;
        for block in &self.waiting {
            if excess == 0 {
                break;
            }
            excess = excess.saturating_sub(block.len);
            count += 1;
        }
        self.waiting.drain(..count).collect()
    }

    /// Notes a block in use.
    pub(super) fn insert(&mut self, block: Block) {
        self.used.insert(block.address, block.len);
        self.used_bytes += block.len;
        self.most_used = self.most_used.max(self.used_bytes);
    }

    /// Lets a block wait that has been in use; says whether it is one.
    pub(super) fn give_back(&mut self, address: usize) -> bool {
        let Some(len) = self.used.remove(&address) else { return false };
        self.used_bytes -= len;
        self.waiting.push(Block { address, len });
        true
    }

    /// Forgets the blocks in use: they are freed without waiting.
    pub(super) fn forget(&mut self) {
        self.used.clear();
        self.used_bytes = 0;
        self.most_used = 0;
    }

    /// Takes out all waiting blocks.
    pub(super) fn take_waiting(&mut self) -> Vec<Block> {
        std::mem::take(&mut self.waiting)
    }

    pub(super) fn waiting_bytes(&self) -> usize {
        self.waiting.iter().map(|block| block.len).sum()
    }
}

//! Packed elements, in which zeros take a bit, for disks and other machines.
//!
//! Outputs of ReLU and dropout, and their gradients, are mostly zeros. Layout: the elements' bytes in blocks of 64 KiB;
//! then a table with the stored size of each block and the blocks' CRC-32 (u32 each, native byte order). A block is
//! stored as it is or, if that saves at least a tenth, as a bitmap of its words (1 bit per word: 1 if it is not zero),
//! the nonzero words, and the bytes after the last group of eight words. With the table, a reader finds the block of
//! any row.

use std::io;
use std::path::Path;
use std::sync::OnceLock;

use crate::kernels::{WordSize, count_words, pack_words, unpack_words};
use crate::words::error::{Error, Result};

/// Size of a block before packing, in bytes.
const BLOCK: usize = 64 << 10;

static ZEROS: [u8; BLOCK] = [0; BLOCK];

/// Minimum number of bytes that are packed: a page of a file.
const LEAST: usize = 4 << 10;

/// To decide whether to pack elements, every 16th block is examined.
const SAMPLE: usize = 16;

/// Environment variable for measurements and tests: `off` disables packing, `all` also packs small values.
const VARIABLE: &str = "SAR_PACKING";

/// Description of packed elements that is needed to read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Packed {
    /// Size of the elements before packing, in bytes.
    pub(super) len: u64,
    pub(super) word: WordSize,
}

impl Packed {
    /// Description of `len` bytes of elements with words of `word` bytes; `None` if `word` is 0.
    pub(super) fn from_words(len: u64, word: u64) -> Option<Self> {
        let word = [WordSize::Two, WordSize::Four].into_iter().find(|w| w.size() as u64 == word)?;
        Some(Packed { len, word })
    }

    fn blocks(self) -> u64 {
        self.len.div_ceil(BLOCK as u64)
    }

    /// Size of a block before packing, in bytes.
    fn block_len(self, block: usize) -> usize {
        (self.len - (block * BLOCK) as u64).min(BLOCK as u64) as usize
    }
}

/// Writes `len` zeros.
pub(super) fn pad(len: u64, mut write: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let (blocks, rest) = (len / BLOCK as u64, (len % BLOCK as u64) as usize);
    (0..blocks).try_for_each(|_| write(&ZEROS))?;
    write(&ZEROS[..rest])
}

/// Whether storing `packed` instead of `raw` bytes saves at least a tenth.
fn saves_a_tenth(packed: usize, raw: usize) -> bool {
    packed * 10 <= raw * 9
}

/// Packed size of elements of `size` bytes each; `None` if elements of this size are not packed.
pub(super) fn packed_len(bytes: &[u8], size: usize) -> Option<u64> {
    let word = word_of(bytes, size)?;
    let stored = |block: &[u8]| {
        let len = packed_block_len(block, word);
        if saves_a_tenth(len, block.len()) { len } else { block.len() }
    };
    let blocks = bytes.len().div_ceil(BLOCK);
    Some((bytes.chunks(BLOCK).map(stored).sum::<usize>() + 4 * (blocks + 1)) as u64)
}

/// Size of the words that may be left out, if elements of `size` bytes are packed at all.
fn word_of(bytes: &[u8], size: usize) -> Option<WordSize> {
    static FROM: OnceLock<usize> = OnceLock::new();
    let from = || match std::env::var(VARIABLE).as_deref() {
        Ok("off") => usize::MAX,
        Ok("all") => 1,
        _ => LEAST,
    };
    if bytes.len() < *FROM.get_or_init(from) {
        return None;
    }
    match size {
        2 => Some(WordSize::Two),
        4 | 8 => Some(WordSize::Four),
        _ => None,
    }
}

/// Packed size of a block, in bytes.
fn packed_block_len(raw: &[u8], word: WordSize) -> usize {
    let (groups, rest) = raw.split_at(raw.len() - raw.len() % word.group());
    groups.len() / word.group() + count_words(groups, word) * word.size() + rest.len()
}

/// The end of packed elements: description and table.
pub(super) struct PackedEnd {
    pub(super) packed: Packed,
    /// The table, which is written after the blocks.
    pub(super) table: Vec<u8>,
}

/// Packs elements while they are written.
pub(super) struct Packer {
    packed: Packed,
    /// Beginning of an incomplete block.
    front: Vec<u8>,
    /// Buffer for a packed block.
    block: Vec<u8>,
    sizes: Vec<u32>,
}

impl Packer {
    /// A packer for elements of `size` bytes that begin with `bytes`, if packing these saves at least a tenth.
    pub(super) fn that_saves(bytes: &[u8], size: usize) -> Option<Self> {
        let word = word_of(bytes, size)?;
        let (mut packed, mut raw) = (0, 0);
        for block in bytes.chunks(BLOCK).step_by(SAMPLE) {
            packed += packed_block_len(block, word);
            raw += block.len();
        }
        saves_a_tenth(packed, raw).then(|| Packer {
            packed: Packed { len: 0, word },
            front: Vec::new(),
            block: vec![0; BLOCK + BLOCK / word.group() + word.group()],
            sizes: Vec::new(),
        })
    }

    /// Appends bytes of elements; `store` receives complete blocks.
    pub(super) fn write(
        &mut self,
        mut bytes: &[u8],
        mut store: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        self.packed.len += bytes.len() as u64;
        if !self.front.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK - self.front.len()));
            self.front.extend_from_slice(now);
            bytes = later;
            if self.front.len() < BLOCK {
                return Ok(());
            }
            let front = std::mem::take(&mut self.front);
            self.store_block(&front, &mut store)?;
        }
        let (blocks, front) = bytes.split_at(bytes.len() - bytes.len() % BLOCK);
        blocks.chunks(BLOCK).try_for_each(|block| self.store_block(block, &mut store))?;
        self.front.extend_from_slice(front);
        Ok(())
    }

    fn store_block(
        &mut self,
        raw: &[u8],
        store: &mut impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let word = self.packed.word;
        let (groups, rest) = raw.split_at(raw.len() - raw.len() % word.group());
        let (bitmap, words) = self.block.split_at_mut(groups.len() / word.group());
        let end = bitmap.len() + pack_words(groups, word, bitmap, words);
        let len = end + rest.len();
        let packs = saves_a_tenth(len, raw.len());
        self.sizes.push(if packs { len } else { raw.len() } as u32);
        if !packs {
            return store(raw);
        }
        self.block[end..len].copy_from_slice(rest);
        store(&self.block[..len])
    }

    /// Stores the last block.
    pub(super) fn finish(
        mut self,
        mut store: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<PackedEnd> {
        let front = std::mem::take(&mut self.front);
        if !front.is_empty() {
            self.store_block(&front, &mut store)?;
        }
        let crc = crc32fast::hash(bytemuck::cast_slice(&self.sizes));
        self.sizes.push(crc);
        let table = bytemuck::cast_slice(&self.sizes).to_vec();
        Ok(PackedEnd { packed: self.packed, table })
    }
}

/// Unpacks elements sequentially while they are read.
pub(super) struct Unpacker {
    packed: Packed,
    sizes: Vec<u32>,
    /// The next block to read.
    next: usize,
    /// Buffer for a stored block.
    stored: Vec<u8>,
    /// Remainder of the block that was read last.
    rest: Vec<u8>,
}

impl Unpacker {
    /// A reader of elements in the file at `path`, whose stored size, including their table, is `stored`; `read` fills
    /// bytes from an offset in the stored bytes.
    pub(super) fn new(
        packed: Packed,
        stored: u64,
        path: &Path,
        read: impl FnOnce(&mut [u8], u64) -> Result<()>,
    ) -> Result<Self> {
        let damaged = || Error::corrupt(path, "the table of packed blocks is damaged");
        let at = stored.checked_sub(4 * (packed.blocks() + 1)).ok_or_else(damaged)?;
        let mut sizes = vec![0_u32; packed.blocks() as usize + 1];
        read(bytemuck::cast_slice_mut(&mut sizes), at)?;
        let crc = sizes.pop();
        let is_intact = crc == Some(crc32fast::hash(bytemuck::cast_slice(&sizes)));
        let fits = |(block, size): (usize, &u32)| *size as usize <= packed.block_len(block);
        let total: u64 = sizes.iter().map(|size| u64::from(*size)).sum();
        if !is_intact || total != at || !sizes.iter().enumerate().all(fits) {
            return Err(damaged());
        }
        let (stored, rest) = (Vec::new(), Vec::new());
        Ok(Unpacker { packed, sizes, next: 0, stored, rest })
    }

    /// Fills `bytes` with the next elements, which must be enough; `path` is that of [`new`](Self::new), and `read` fills
    /// bytes with the next stored ones.
    pub(super) fn read(
        &mut self,
        mut bytes: &mut [u8],
        path: &Path,
        mut read: impl FnMut(&mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let damaged = |problem: &str| Error::corrupt(path, problem);
        let now = self.rest.len().min(bytes.len());
        bytes.split_off_mut(..now).into_iter().for_each(|to| to.copy_from_slice(&self.rest[..now]));
        self.rest.drain(..now);
        if bytes.is_empty() {
            return Ok(());
        }
        // Whole blocks are read in one piece into the end of their destination: a block is never larger than its
        // elements, so none is overwritten before it is unpacked.
        let (mut len, mut size, mut end) = (0, 0, self.next);
        while end < self.sizes.len() && len + self.packed.block_len(end) <= bytes.len() {
            len += self.packed.block_len(end);
            size += self.sizes[end] as usize;
            end += 1;
        }
        let (whole, part) = bytes.split_at_mut(len);
        read(&mut whole[len - size..])?;
        let (mut from, mut to) = (len - size, 0);
        while self.next < end {
            let stored = self.sizes[self.next] as usize;
            self.set_stored(stored).copy_from_slice(&whole[from..from + stored]);
            let len = self.packed.block_len(self.next);
            self.unpack(stored, &mut whole[to..to + len]).map_err(damaged)?;
            (from, to) = (from + stored, to + len);
            self.next += 1;
        }
        if part.is_empty() {
            return Ok(());
        }
        let Some(size) = self.sizes.get(self.next).map(|size| *size as usize) else {
            return Err(damaged("packed elements end too early"));
        };
        read(self.set_stored(size))?;
        let mut block = std::mem::take(&mut self.rest);
        block.resize(self.packed.block_len(self.next), 0);
        self.unpack(size, &mut block).map_err(damaged)?;
        self.next += 1;
        part.copy_from_slice(&block[..part.len()]);
        block.drain(..part.len());
        self.rest = block;
        Ok(())
    }

    /// Buffer for a stored block of this size, with padding that unpacking may read.
    fn set_stored(&mut self, size: usize) -> &mut [u8] {
        self.stored.resize(BLOCK + self.packed.word.group(), 0);
        &mut self.stored[..size]
    }

    /// Fills `raw` from the stored block.
    fn unpack(&self, size: usize, raw: &mut [u8]) -> Result<(), &'static str> {
        if size == raw.len() {
            raw.copy_from_slice(&self.stored[..size]);
            return Ok(());
        }
        let word = self.packed.word;
        let (groups, rest) = raw.split_at_mut(raw.len() - raw.len() % word.group());
        let (bitmap, words) = self.stored.split_at(groups.len() / word.group());
        let count: usize = bitmap.iter().map(|bits| bits.count_ones() as usize).sum();
        let end = count * word.size();
        if bitmap.len() + end + rest.len() != size {
            return Err("the bitmap of a packed block does not match its size");
        }
        unpack_words(bitmap, words, word, groups);
        rest.copy_from_slice(&words[end..end + rest.len()]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Packs bytes in pieces of these sizes, cyclically; returns the stored form.
    fn packed(bytes: &[u8], size: usize, pieces: &[usize]) -> Option<(Packed, Vec<u8>)> {
        let mut packer = Packer::that_saves(bytes, size)?;
        let mut stored = Vec::new();
        let mut store = |bytes: &[u8]| {
            stored.extend_from_slice(bytes);
            Ok(())
        };
        let (mut left, mut pieces) = (bytes, pieces.iter().cycle());
        while let Some(piece) = pieces.next().filter(|_| !left.is_empty()) {
            let (now, later) = left.split_at(left.len().min(*piece));
            packer.write(now, &mut store).unwrap();
            left = later;
        }
        let PackedEnd { packed, table } = packer.finish(&mut store).unwrap();
        stored.extend(table);
        Some((packed, stored))
    }

    fn read(packed: Packed, stored: &[u8], pieces: &[usize]) -> Result<Vec<u8>> {
        let path = Path::new("packed");
        let table = |bytes: &mut [u8], at: u64| {
            bytes.copy_from_slice(&stored[at as usize..]);
            Ok(())
        };
        let mut unpacker = Unpacker::new(packed, stored.len() as u64, path, table)?;
        let mut at = 0;
        let mut source = |bytes: &mut [u8]| {
            bytes.copy_from_slice(&stored[at..at + bytes.len()]);
            at += bytes.len();
            Ok(())
        };
        let mut bytes = vec![9; packed.len as usize];
        let (mut begin, mut pieces) = (0, pieces.iter().cycle());
        while let Some(piece) = pieces.next().filter(|_| begin < bytes.len()) {
            let end = bytes.len().min(begin + piece);
            unpacker.read(&mut bytes[begin..end], path, &mut source)?;
            begin = end;
        }
        Ok(bytes)
    }

    /// Bytes of elements with runs of zeros and of values.
    fn elements() -> impl Strategy<Value = Vec<u8>> {
        let run = (any::<bool>(), 1_usize..40_000, any::<u64>());
        prop::collection::vec(run, 1..12).prop_map(|runs| {
            let bytes = runs.into_iter().flat_map(|(zeros, len, seed)| {
                let value = move |i: usize| (seed >> (i % 57)) as u8 | 1;
                (0..len).map(move |i| if zeros { 0 } else { value(i) })
            });
            bytes.collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn elements_come_back(
            bytes in elements(),
            size in prop_oneof![Just(2_usize), Just(4), Just(8)],
            written in prop::collection::vec(1_usize..200_000, 1..4),
            wanted in prop::collection::vec(1_usize..200_000, 1..4),
        ) {
            if let Some((packed, stored)) = packed(&bytes, size, &written) {
                prop_assert!(read(packed, &stored, &wanted).unwrap() == bytes);
            }
        }

        #[test]
        fn damage_is_found_or_harmless(at in any::<prop::sample::Index>(), bit in 0_u8..8) {
            let bytes: Vec<u8> = (0..300_000_u32).map(|i| if i % 7 < 4 { 0 } else { i as u8 }).collect();
            let bytes: Vec<u8> = bytes.chunks(4).flat_map(|w| if w[0] % 3 == 0 { [0; 4] } else { [w[0], 1, 2, 3] }).collect();
            let (packed, mut stored) = packed(&bytes, 4, &[1 << 20]).unwrap();
            prop_assert!(stored.len() < bytes.len());
            let at = at.index(stored.len());
            stored[at] ^= 1 << bit;
            // The checksum of the stored bytes detects changed values; this check detects wrong counts.
            let table = stored.len() - 4 * (packed.blocks() as usize + 1);
            let found = read(packed, &stored, &[100_000]);
            prop_assert!(at < table || found.is_err());
        }
    }

    #[test]
    fn dense_elements_are_left_as_they_are() {
        let dense = vec![1; 1 << 20];
        assert!(packed(&dense, 4, &[1 << 20]).is_none());
        let bytes_of_masks = vec![0; 1 << 20];
        assert!(packed(&bytes_of_masks, 1, &[1 << 20]).is_none());
    }

    #[test]
    fn zeros_take_a_bit_each() {
        let zeros = vec![0; 1 << 20];
        let (_, stored) = packed(&zeros, 4, &[1 << 20]).unwrap();
        assert_eq!(stored.len(), (1 << 20) / 32 + 4 * 17);
    }
}

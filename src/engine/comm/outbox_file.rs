//! The file with a rank's messages of one collective.
//!
//! Layout, in native byte order, all numbers u64: the messages back to back; the index, with one entry per recipient
//! (offset, length and crc32 of the stored bytes, length of the message, bytes per word if it is packed, otherwise 0);
//! the tag (number of the collective, code of the operation); the number of bytes at the start of the file that are in
//! the page cache, and how many of them count towards the sender's share of it; the crc32 of all these numbers. The
//! index is at the end because lengths are known only then; its offset follows from the file's length.

use std::path::{Path, PathBuf};

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

use super::tag::Tag;
use crate::engine::packed::Packed;
use crate::engine::spill::Extent;
use crate::io::StorageFile;
use crate::words::error::{Error, Result};

/// Location of a message in its file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable, Serialize, Deserialize)]
#[repr(C)]
pub(super) struct MessageEntry {
    pub(super) offset: u64,
    /// Size of the stored bytes.
    pub(super) stored: u64,
    /// CRC-32 of the stored bytes, without the table of a packed message.
    pub(super) checksum: u64,
    /// Size of the message in bytes, before packing.
    pub(super) len: u64,
    /// Bytes per word if the message is packed, otherwise 0.
    pub(super) word: u64,
}

impl MessageEntry {
    /// The message as a value in the file.
    pub(super) fn extent(&self) -> Extent {
        let MessageEntry { offset, stored, checksum, len, word } = *self;
        let packed = Packed::from_words(len, word);
        Extent { offset, len: stored, checksum: checksum as u32, packed }
    }
}

/// Number of words after the entries: tag, page-cache sizes, checksum.
const TRAILER: usize = 5;

/// Path of a sender's messages of a collective.
pub(super) fn outbox_path(folder: &Path, sequence: u64, sender: usize) -> PathBuf {
    folder.join(format!("outbox-{sequence}-{sender}"))
}

/// The end of the file: locations of its messages.
pub(super) struct OutboxIndex {
    /// The message of each recipient.
    pub(super) entries: Vec<MessageEntry>,
    pub(super) tag: Tag,
    /// Number of bytes at the start of the file that are in the page cache.
    pub(super) cached: u64,
    /// Number of these bytes that count towards the writer's share of the page cache.
    pub(super) shared: u64,
}

impl OutboxIndex {
    /// The words stored at the end of the file.
    pub(super) fn words(&self) -> Vec<u64> {
        let mut words: Vec<u64> = bytemuck::cast_slice(&self.entries).to_vec();
        words.extend(self.tag.words());
        words.extend([self.cached, self.shared]);
        words.push(u64::from(crc32fast::hash(bytemuck::cast_slice(&words))));
        words
    }

    /// Reads and verifies the end of a file with messages for `world_size` ranks.
    pub(super) fn read(file: &dyn StorageFile, path: &Path, world_size: usize) -> Result<Self> {
        let failed = |e| Error::io("read", path, e);
        let len = (world_size * size_of::<MessageEntry>() + TRAILER * size_of::<u64>()) as u64;
        let at = file.byte_len().map_err(failed)?.checked_sub(len);
        let at = at.ok_or_else(|| Error::corrupt(path, "too short for its index"))?;
        let mut words = vec![0_u64; len as usize / 8];
        file.read_exact_at(bytemuck::cast_slice_mut(&mut words), at).map_err(failed)?;
        let (words, checksum) = words.split_at(words.len() - 1);
        if u64::from(crc32fast::hash(bytemuck::cast_slice(words))) != checksum[0] {
            return Err(Error::corrupt(path, "the checksum of the index does not match"));
        }
        let (entries, trailer) = words.split_at(world_size * size_of::<MessageEntry>() / 8);
        let tag = Tag::from_words([trailer[0], trailer[1]]);
        let tag = tag.ok_or_else(|| Error::corrupt(path, "its operation is unknown"))?;
        let entries = bytemuck::cast_slice(entries).to_vec();
        Ok(OutboxIndex { entries, tag, cached: trailer[2], shared: trailer[3] })
    }
}

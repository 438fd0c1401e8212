//! The file with a rank's messages of one collective.
//!
//! Layout, in native byte order: the messages back to back, then the index (one entry per recipient: offset, length and crc32 of what
//! is stored, length of the message, number of bytes of a word if it is packed, or else 0; u64 each), the tag (number of the collective, code of the operation), the number of bytes at the file's front that lie in the page
//! cache, and how many of them count towards the sender's share of it (u64 each), then the crc32 of these (u64). The index comes last
//! because lengths are known last; its place follows from the file's length.

use std::path::{Path, PathBuf};

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

use super::tag::Tag;
use crate::engine::packed::Packed;
use crate::error::{Error, Result};
use crate::io::StorageFile;

/// The place of a message in its file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable, Serialize, Deserialize)]
#[repr(C)]
pub(super) struct MessageEntry {
    pub(super) offset: u64,
    /// Number of bytes that are stored.
    pub(super) stored: u64,
    /// CRC-32 of the stored bytes, without the table of packed ones.
    pub(super) checksum: u64,
    /// Number of bytes of the message.
    pub(super) len: u64,
    /// Number of bytes of a word, if the message is packed.
    pub(super) word: u64,
}

impl MessageEntry {
    /// The description of the message, if it is packed.
    pub(super) fn packed(&self) -> Option<Packed> {
        Packed::from_words(self.len, self.word)
    }
}

/// Number of words after the entries: tag, both fronts, checksum.
const TRAILER: usize = 5;

/// The path of a sender's messages of a collective.
pub(super) fn outbox_path(folder: &Path, sequence: u64, sender: usize) -> PathBuf {
    folder.join(format!("outbox-{sequence}-{sender}"))
}

/// The end of the file: its messages and their recipients.
pub(super) struct OutboxIndex {
    /// The message of each rank.
    pub(super) entries: Vec<MessageEntry>,
    pub(super) tag: Tag,
    /// Number of bytes at the file's front that lie in the page cache.
    pub(super) cached: u64,
    /// Number of these bytes that count towards the writer's share of it.
    pub(super) shared: u64,
}

impl OutboxIndex {
    /// The words at the end of the file.
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

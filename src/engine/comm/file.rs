//! The process group of worker processes: messages are files, and an arrival is a change of a word in the control file.
//!
//! There is one file per collective and sender, which the sender removes when a later collective is complete (if the file is
//! kept, one after its last reading). Layout, in native byte order (files never leave the machine): the messages back to back,
//! then the index (one entry per recipient: offset u64, length u64, crc32 u64), the tag (number of the collective, code of the
//! operation), the number of bytes at the file's front that lie in the page cache, and how many of them count towards the sender's share of it (u64 each), then the crc32 of these
//! (u64). The index comes last because lengths are known last; its place follows from the file's length.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracing::debug;

use super::group::{
    Arrival, Collective, Inbox, Outbox, Posted, ProcessGroup, ReadOutboxes, Recipient,
};
use super::tag::{Operation, Tag};
use crate::engine::turns::Control;
use crate::error::{Error, Result};
use crate::event::{Span, SpanKind, span};
use crate::io::{FileWriter, IoCounters, Storage, StorageFile, overlap, read_split};

/// The place of a message in its file: offset, length, crc32.
type Entry = [u64; 3];

/// Number of words behind the entries: tag, both fronts, checksum.
const TRAILER: usize = 5;

/// One rank's view of the group of worker processes.
pub struct FileGroup {
    control: Arc<Control>,
    rank: usize,
    folder: PathBuf,
    storage: Arc<dyn Storage>,
    counters: IoCounters,
    next: Cell<u64>,
    read: ReadOutboxes,
}

impl FileGroup {
    /// Creates the group of the run that `control` belongs to; all ranks share `folder`.
    pub fn new(
        control: Arc<Control>,
        rank: usize,
        folder: &Path,
        storage: Arc<dyn Storage>,
        counters: IoCounters,
    ) -> Self {
        let folder = folder.to_owned();
        let (next, read) = (Cell::new(0), ReadOutboxes::default());
        FileGroup { control, rank, folder, storage, counters, next, read }
    }

    fn path(&self, sequence: u64, sender: usize) -> PathBuf {
        self.folder.join(format!("outbox-{sequence}-{sender}"))
    }
}

impl ProcessGroup for FileGroup {
    fn rank(&self) -> usize {
        self.rank
    }

    fn world_size(&self) -> usize {
        self.control.world_size()
    }

    fn outbox(&self, operation: Operation) -> Result<Box<dyn Outbox + '_>> {
        let tag = Tag { sequence: self.next.replace(self.next.get() + 1), operation };
        let path = self.path(tag.sequence, self.rank);
        let file = self.storage.create(&path).map_err(|e| Error::io("create", &path, e))?;
        let entries = vec![[0; 3]; self.world_size()];
        let message = Message { recipient: None, begin: 0, checksum: crc32fast::Hasher::new() };
        let (keep, writes) = (false, span(SpanKind::Disk, "write messages"));
        Ok(Box::new(FileOutbox {
            group: self,
            tag,
            keep,
            path,
            file,
            len: 0,
            entries,
            message,
            writes,
        }))
    }

    fn arrive(&self) -> Arrival {
        Arrival { generation: self.control.arrive() }
    }

    fn wait(&self, arrival: Arrival, posted: Vec<Posted>) -> Result<Vec<Collective>> {
        self.control.wait(arrival.generation)?;
        let (collectives, read) = self.read.complete(&posted);
        for sequence in read {
            let path = self.path(sequence, self.rank);
            self.storage.remove(&path).map_err(|e| Error::io("remove", &path, e))?;
        }
        Ok(collectives)
    }

    fn inbox(&self, collective: &Collective, from: usize) -> Result<Box<dyn Inbox>> {
        let path = self.path(collective.tag.sequence, from);
        let failed = |e| Error::io("read", &path, e);
        let file = self.storage.open(&path).map_err(failed)?;
        let index_len =
            (self.world_size() * size_of::<Entry>() + TRAILER * size_of::<u64>()) as u64;
        let index_at = file.byte_len().map_err(failed)?.checked_sub(index_len);
        let index_at = index_at.ok_or_else(|| Error::corrupt(&path, "too short for its index"))?;
        let mut index = vec![0_u64; index_len as usize / 8];
        file.read_exact_at(bytemuck::cast_slice_mut(&mut index), index_at).map_err(failed)?;
        let (index, checksum) = index.split_at(index.len() - 1);
        if u64::from(crc32fast::hash(bytemuck::cast_slice(index))) != checksum[0] {
            return Err(Error::corrupt(&path, "the checksum of the index does not match"));
        }
        let (entries, trailer) = index.split_at(self.world_size() * size_of::<Entry>() / 8);
        let sent = Tag::from_words([trailer[0], trailer[1]]);
        let sent = sent.ok_or_else(|| Error::corrupt(&path, "its operation is unknown"))?;
        collective.tag.check(self.rank, sent, from)?;
        let [offset, len, checksum] = bytemuck::cast_slice::<u64, Entry>(entries)[self.rank];
        let (cached, shared) = (trailer[2], trailer[3]);
        debug!(collective = sent.sequence, from, bytes = len, "message opened");
        let counters = self.counters.clone();
        let hasher = crc32fast::Hasher::new();
        Ok(Box::new(FileInbox {
            from,
            path,
            file,
            cached,
            shared,
            offset,
            remaining: len,
            checksum,
            hasher,
            counters,
        }))
    }
}

struct FileOutbox<'a> {
    group: &'a FileGroup,
    tag: Tag,
    keep: bool,
    path: PathBuf,
    file: Box<dyn FileWriter>,
    len: u64,
    entries: Vec<Entry>,
    message: Message,
    /// The time from the first message to the end of the last one, with what computes their rows.
    writes: Span,
}

/// The message that is being written.
struct Message {
    recipient: Option<Recipient>,
    begin: u64,
    checksum: crc32fast::Hasher,
}

impl FileOutbox<'_> {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.file.write(bytes);
        written.map_err(|e| Error::io("write", &self.path, e))?;
        self.len += bytes.len() as u64;
        self.group.counters.wrote(bytes.len() as u64);
        Ok(())
    }

    /// Adds the message that is being written to the index.
    fn end_message(&mut self) {
        let hasher = std::mem::take(&mut self.message.checksum);
        let entry =
            [self.message.begin, self.len - self.message.begin, u64::from(hasher.finalize())];
        match self.message.recipient.take() {
            Some(Recipient::Rank(rank)) => self.entries[rank] = entry,
            Some(Recipient::Everyone) => self.entries.fill(entry),
            None => {}
        }
        self.message.begin = self.len;
    }
}

impl Outbox for FileOutbox<'_> {
    fn begin(&mut self, recipient: Recipient) {
        self.end_message();
        self.message.recipient = Some(recipient);
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.message.checksum.update(bytes);
        self.append(bytes)
    }

    fn keep(&mut self) {
        self.keep = true;
    }

    fn post(mut self: Box<Self>) -> Result<Posted> {
        self.end_message();
        let mut index: Vec<u64> = bytemuck::cast_slice(&self.entries).to_vec();
        let shared = self.file.shared();
        index.extend(self.tag.words());
        index.extend([self.file.cached(), shared]);
        self.group.counters.cached(shared);
        index.push(u64::from(crc32fast::hash(bytemuck::cast_slice(&index))));
        self.append(bytemuck::cast_slice(&index))?;
        let written = self.file.finish();
        written.map_err(|e| Error::io("write", &self.path, e))?;
        debug!(collective = self.tag.sequence, bytes = self.len, "messages written");
        self.writes.set("bytes", self.len);
        Ok(Posted { tag: self.tag, keep: self.keep })
    }
}

struct FileInbox {
    /// The rank that sent it.
    from: usize,
    path: PathBuf,
    file: Box<dyn StorageFile>,
    /// Number of bytes at the file's front that lie in the page cache.
    cached: u64,
    /// Number of these bytes that count towards the sender's share of it.
    shared: u64,
    offset: u64,
    remaining: u64,
    checksum: u64,
    hasher: crc32fast::Hasher,
    counters: IoCounters,
}

impl Inbox for FileInbox {
    fn remaining(&self) -> u64 {
        self.remaining
    }

    fn waits_for_disk(&self) -> bool {
        self.offset + self.remaining > self.cached
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<()> {
        let len = bytes.len() as u64;
        if len > self.remaining {
            let problem = format!("a message has {} bytes left, not {len}", self.remaining);
            return Err(Error::corrupt(&self.path, problem));
        }
        let mut reads = span(SpanKind::Disk, "read a message");
        reads.set("from", self.from);
        reads.set("bytes", len);
        let read = read_split(&*self.file, self.cached, bytes, self.offset);
        read.map_err(|e| Error::io("read", &self.path, e))?;
        self.hasher.update(bytes);
        self.counters.cached(overlap(self.shared, self.offset, len));
        self.offset += len;
        self.remaining -= len;
        self.counters.read(len);
        if self.remaining == 0 && u64::from(self.hasher.clone().finalize()) != self.checksum {
            return Err(self.damaged("the checksum of a message does not match"));
        }
        Ok(())
    }

    fn damaged(&self, problem: &str) -> Error {
        Error::corrupt(&self.path, problem)
    }
}

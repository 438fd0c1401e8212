//! The process group of workers: messages are files, and arrivals are changes of a word in the control block.
//!
//! There is one file per collective and sender (`outbox_file.rs`). The sender removes it when a later collective is
//! complete; if the file is kept, the first one after its last use. In a run on several machines, each machine has its
//! own group of files: the carrier writes the files of ranks on other machines, and this machine's ranks remove them
//! along with their own.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracing::debug;

use super::group::{
    Arrival, Collective, Inbox, Outbox, Posted, ProcessGroup, ReadOutboxes, Recipient,
};
use super::outbox_file::{MessageEntry, OutboxIndex, outbox_path};
use super::placement::Placement;
use super::tag::{Operation, Tag};
use crate::engine::spill::{Extent, ReadValue, ValueFile};
use crate::engine::turns::Control;
use crate::event::{Span, SpanKind, span};
use crate::io::{IoCounters, MemoryStorage, Storage, StorageFile, overlap, read_split};
use crate::words::error::{Error, Result};

/// One rank's view of the group of workers.
pub struct FileGroup {
    control: Arc<Control>,
    placement: Arc<Placement>,
    rank: usize,
    slot: usize,
    folder: PathBuf,
    storage: Arc<dyn Storage>,
    counters: IoCounters,
    next: Cell<u64>,
    read: ReadOutboxes,
    /// Whether files are padded to their size without packing.
    pads: bool,
}

impl FileGroup {
    /// The group of a run on this machine alone; `control` is its control block, and all ranks share `folder`.
    pub fn new(
        control: Arc<Control>,
        rank: usize,
        folder: &Path,
        storage: Arc<dyn Storage>,
        counters: IoCounters,
    ) -> Self {
        let placement = Arc::new(Placement::one_machine(control.num_ranks()));
        Self::placed(control, placement, rank, folder, storage, counters)
    }

    /// The groups of ranks that are threads of this process, by rank, with files in memory; `control` is an in-memory
    /// block.
    pub fn in_memory(control: &Arc<Control>) -> Vec<Self> {
        let storage = Arc::new(MemoryStorage::default());
        let group = |rank| {
            let (control, storage) = (control.clone(), storage.clone());
            FileGroup::new(control, rank, Path::new("memory"), storage, IoCounters::default())
        };
        (0..control.num_ranks()).map(group).collect()
    }

    /// The group of a run whose ranks on this machine share `control` and `folder`; `slot` determines the rank.
    pub fn placed(
        control: Arc<Control>,
        placement: Arc<Placement>,
        slot: usize,
        folder: &Path,
        storage: Arc<dyn Storage>,
        counters: IoCounters,
    ) -> Self {
        let (rank, folder) = (placement.local()[slot], folder.to_owned());
        let (next, read) = (Cell::new(0), ReadOutboxes::default());
        let pads = false;
        FileGroup { control, placement, rank, slot, folder, storage, counters, next, read, pads }
    }

    /// This group with files padded to their size without packing, if `pads`; for stand-ins.
    #[must_use]
    pub fn padding(self, pads: bool) -> Self {
        FileGroup { pads, ..self }
    }

    fn path(&self, sequence: u64, sender: usize) -> PathBuf {
        outbox_path(&self.folder, sequence, sender)
    }

    /// Removes this rank's messages of a collective, and its part of the messages from other machines, because no rank
    /// of this machine reads them again.
    fn remove(&self, sequence: u64) -> Result<()> {
        let ranks = self.placement.local().len();
        let remote = self.placement.remote().filter(|sender| sender % ranks == self.slot);
        for sender in std::iter::once(self.rank).chain(remote) {
            let path = self.path(sequence, sender);
            self.storage.remove(&path).map_err(|e| Error::io("remove", &path, e))?;
        }
        Ok(())
    }
}

impl ProcessGroup for FileGroup {
    fn rank(&self) -> usize {
        self.rank
    }

    fn world_size(&self) -> usize {
        self.placement.world_size()
    }

    fn shares_files(&self, rank: usize) -> bool {
        self.placement.slot(rank).is_some()
    }

    fn outbox(&self, operation: Operation) -> Result<Box<dyn Outbox + '_>> {
        let tag = Tag { sequence: self.next.replace(self.next.get() + 1), operation };
        let path = self.path(tag.sequence, self.rank);
        let file = self.storage.create(&path).map_err(|e| Error::io("create", &path, e))?;
        let entries = vec![MessageEntry::default(); self.world_size()];
        let out = ValueFile::new(file, path, self.counters.clone(), self.pads);
        let (keep, writes) = (false, span(SpanKind::Disk, "write messages"));
        Ok(Box::new(FileOutbox { group: self, tag, keep, out, entries, recipient: None, writes }))
    }

    fn arrive(&self) -> Arrival {
        self.control.rank(self.slot).posted.set(self.next.get());
        Arrival { generation: self.control.arrive() }
    }

    fn wait(
        &self,
        arrival: Arrival,
        posted: Vec<Posted>,
        idle: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Vec<Collective>> {
        self.control.wait(arrival.generation, idle)?;
        let (collectives, read) = self.read.complete(&posted);
        read.into_iter().try_for_each(|sequence| self.remove(sequence))?;
        Ok(collectives)
    }

    fn inbox(&self, collective: &Collective, from: usize) -> Result<Box<dyn Inbox>> {
        let path = self.path(collective.tag.sequence, from);
        let file = self.storage.open(&path).map_err(|e| Error::io("read", &path, e))?;
        let index = OutboxIndex::read(&*file, &path, self.world_size())?;
        let OutboxIndex { tag: sent, cached, shared, .. } = index;
        collective.tag.check(self.rank, sent, from)?;
        let entry = index.entries[self.rank];
        debug!(collective = sent.sequence, from, bytes = entry.len, "message opened");
        let counters = self.counters.clone();
        let stored = StoredMessage { from, path, file, cached, shared, counters };
        let fill = |bytes: &mut [u8], at| stored.fill(bytes, at);
        let value = ReadValue::new(entry.extent(), &stored.path, fill)?;
        Ok(Box::new(FileInbox { stored, value }))
    }
}

struct FileOutbox<'a> {
    group: &'a FileGroup,
    tag: Tag,
    keep: bool,
    out: ValueFile,
    entries: Vec<MessageEntry>,
    /// Recipient of the message that is being written.
    recipient: Option<Recipient>,
    /// Time from the first message to the end of the last one, including the computation of rows.
    writes: Span,
}

impl FileOutbox<'_> {
    /// Adds the current message to the index.
    fn end_message(&mut self) -> Result<()> {
        let extent = self.out.end_value()?;
        let Extent { offset, len: stored, checksum, packed } = extent;
        let word = packed.map_or(0, |packed| packed.word.size() as u64);
        let (checksum, len) = (u64::from(checksum), extent.value_len());
        let entry = MessageEntry { offset, stored, checksum, len, word };
        let placement = &self.group.placement;
        let copies = match self.recipient.take() {
            Some(Recipient::Rank(rank)) => {
                self.entries[rank] = entry;
                u64::from(placement.slot(rank).is_none())
            }
            Some(Recipient::Everyone) => {
                self.entries.fill(entry);
                placement.machines() as u64 - 1
            }
            None => 0,
        };
        self.group.counters.sent(stored * copies);
        Ok(())
    }
}

impl Outbox for FileOutbox<'_> {
    fn begin(&mut self, recipient: Recipient) -> Result<()> {
        self.end_message()?;
        self.recipient = Some(recipient);
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write(bytes)
    }

    fn write_elements(&mut self, bytes: &[u8], size: usize) -> Result<()> {
        self.out.write_elements(bytes, size)
    }

    fn keep(&mut self) {
        self.keep = true;
    }

    fn post(mut self: Box<Self>) -> Result<Posted> {
        self.end_message()?;
        let (cached, shared) = (self.out.file.cached(), self.out.file.shared());
        self.group.counters.cached(shared);
        let entries = std::mem::take(&mut self.entries);
        let index = OutboxIndex { entries, tag: self.tag, cached, shared };
        self.out.append(bytemuck::cast_slice(&index.words()))?;
        let ValueFile { file, path, len, .. } = self.out;
        file.finish().map_err(|e| Error::io("write", &path, e))?;
        debug!(collective = self.tag.sequence, bytes = len, "messages written");
        self.writes.set("bytes", len);
        Ok(Posted { tag: self.tag, keep: self.keep })
    }
}

/// The file of a message.
struct StoredMessage {
    /// The sender's rank.
    from: usize,
    path: PathBuf,
    file: Box<dyn StorageFile>,
    /// Number of bytes at the start of the file that are in the page cache.
    cached: u64,
    /// Number of these bytes that count towards the sender's share of the page cache.
    shared: u64,
    counters: IoCounters,
}

impl StoredMessage {
    /// Fills `bytes` from an offset in the file.
    fn fill(&self, bytes: &mut [u8], offset: u64) -> Result<()> {
        let len = bytes.len() as u64;
        let mut reads = span(SpanKind::Disk, "read a message");
        reads.set("from", self.from);
        reads.set("bytes", len);
        let read = read_split(&*self.file, self.cached, bytes, offset);
        read.map_err(|e| Error::io("read", &self.path, e))?;
        self.counters.cached(overlap(self.shared, offset, len));
        self.counters.read(len);
        Ok(())
    }
}

struct FileInbox {
    stored: StoredMessage,
    value: ReadValue,
}

impl Inbox for FileInbox {
    fn remaining(&self) -> u64 {
        self.value.extent.value_len() - self.value.read
    }

    fn waits_for_disk(&self) -> bool {
        self.value.extent.offset + self.value.extent.len > self.stored.cached
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<()> {
        let (remaining, len) = (self.remaining(), bytes.len() as u64);
        if len > remaining {
            return Err(self.damaged(&format!("a message has {remaining} bytes left, not {len}")));
        }
        let FileInbox { stored, value } = self;
        value.read(bytes, &stored.path, |bytes, at| stored.fill(bytes, at))?;
        if len == remaining {
            stored.counters.saved_in_reading(value.extent.saved());
            if !value.is_intact() {
                return Err(self.damaged("the checksum of a message does not match"));
            }
        }
        Ok(())
    }

    fn damaged(&self, problem: &str) -> Error {
        Error::corrupt(&self.stored.path, problem)
    }
}

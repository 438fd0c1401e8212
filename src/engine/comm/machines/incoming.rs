//! Messages that arrive from another machine.

use std::path::PathBuf;

use super::outgoing::{LocalFiles, MessagesHeader};
use crate::engine::comm::outbox_file::{MessageEntry, OutboxIndex, outbox_path};
use crate::engine::comm::tag::Tag;
use crate::io::{self, FileWriter};
use crate::words::error::{Error, Result};

/// State of the messages from another machine.
pub(super) struct Incoming {
    /// Ranks of the other machine, ascending.
    senders: Vec<usize>,
    /// The file being written.
    file: Option<IncomingFile>,
    /// Number of pauses whose messages have all arrived.
    pub(super) pauses: u64,
}

/// A remote sender's messages that are arriving.
struct IncomingFile {
    path: PathBuf,
    writer: Box<dyn FileWriter>,
    header: MessagesHeader,
    tag: Tag,
    /// Number of missing bytes.
    left: u64,
}

impl Incoming {
    pub(super) fn new(senders: Vec<usize>) -> Self {
        Incoming { senders, file: None, pauses: 0 }
    }

    /// Begins the file with a sender's messages for `ranks`, the ranks of this machine.
    pub(super) fn begin(
        &mut self,
        bytes: &[u8],
        ranks: &[usize],
        files: &LocalFiles,
    ) -> Result<()> {
        let header: MessagesHeader = io::decode(bytes)?;
        let tag = Tag::from_words(header.tag);
        let known = self.senders.contains(&header.sender) && header.entries.len() == ranks.len();
        let (Some(tag), true, true) = (tag, known, self.file.is_none()) else {
            return Err(unexpected("the beginning of messages"));
        };
        let path = outbox_path(&files.folder, tag.sequence, header.sender);
        let created = files.storage.create(&path);
        let writer = created.map_err(|e| Error::io("create", &path, e))?;
        let left = header.len;
        self.file = Some(IncomingFile { path, writer, header, tag, left });
        self.end_file(ranks, files)
    }

    /// Writes bytes of the current messages.
    pub(super) fn add(&mut self, bytes: &[u8], ranks: &[usize], files: &LocalFiles) -> Result<()> {
        let file = self.file.as_mut().ok_or_else(|| unexpected("part of messages"))?;
        let left = file.left.checked_sub(bytes.len() as u64);
        file.left = left.ok_or_else(|| unexpected("more of messages"))?;
        file.writer.write(bytes).map_err(|e| Error::io("write", &file.path, e))?;
        self.end_file(ranks, files)
    }

    /// Writes the index after complete messages.
    fn end_file(&mut self, ranks: &[usize], files: &LocalFiles) -> Result<()> {
        let Some(file) = self.file.take_if(|file| file.left == 0) else { return Ok(()) };
        let IncomingFile { path, mut writer, header, tag, .. } = file;
        let mut entries = vec![MessageEntry::default(); files.world_size];
        for (rank, entry) in ranks.iter().zip(header.entries) {
            entries[*rank] = entry;
        }
        let (cached, shared) = (writer.cached(), writer.shared());
        let index = OutboxIndex { entries, tag, cached, shared };
        let written = writer.write(bytemuck::cast_slice(&index.words()));
        written.and_then(|()| writer.finish()).map_err(|e| Error::io("write", &path, e))?;
        Ok(())
    }

    /// Notes that all messages of the next pause have arrived.
    pub(super) fn end_pause(&mut self) -> Result<()> {
        if self.file.is_some() {
            return Err(unexpected("the end of a pause"));
        }
        self.pauses += 1;
        Ok(())
    }
}

fn unexpected(what: &str) -> Error {
    Error::internal(format!("{what} arrived where it was not expected"))
}

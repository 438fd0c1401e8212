//! Messages that a machine sends to another one.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::transport::{Piece, PieceKind};
use crate::engine::comm::outbox_file::{MessageEntry, OutboxIndex, outbox_path};
use crate::io::{self, Storage, StorageFile, read_split};
use crate::words::error::{Error, Result};

/// Header of a rank's messages of a collective for the ranks of one machine.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct MessagesHeader {
    /// Number of the collective, and code of its operation.
    pub(super) tag: [u64; 2],
    pub(super) sender: usize,
    /// The message of each of the machine's ranks, ascending; offsets are relative to the parts that follow.
    pub(super) entries: Vec<MessageEntry>,
    /// Number of bytes that follow.
    pub(super) len: u64,
}

/// Queue of messages to another machine.
pub(super) struct Outgoing {
    /// Ranks of the other machine, ascending.
    ranks: Vec<usize>,
    /// Size of a part, in bytes.
    part: usize,
    queue: VecDeque<Errand>,
    messages: Option<Messages>,
    /// The piece that the transport had no room for.
    unsent: Option<Piece>,
}

/// An entry of the queue.
enum Errand {
    Messages { sequence: u64, sender: usize },
    Piece(Piece),
}

/// A file whose messages are being sent.
struct Messages {
    path: PathBuf,
    file: Box<dyn StorageFile>,
    cached: u64,
    ranges: VecDeque<Range>,
}

/// Unsent bytes of a file.
struct Range {
    offset: u64,
    len: u64,
}

/// The files of a machine's ranks.
pub(super) struct LocalFiles {
    pub(super) folder: PathBuf,
    pub(super) storage: Arc<dyn Storage>,
    /// Number of ranks on all machines.
    pub(super) world_size: usize,
}

impl Outgoing {
    pub(super) fn new(ranks: Vec<usize>, part: usize) -> Self {
        let (queue, messages, unsent) = (VecDeque::new(), None, None);
        Outgoing { ranks, part, queue, messages, unsent }
    }

    /// Queues a rank's messages of a collective.
    pub(super) fn add_messages(&mut self, sequence: u64, sender: usize) {
        self.queue.push_back(Errand::Messages { sequence, sender });
    }

    /// Queues a piece.
    pub(super) fn add(&mut self, piece: Piece) {
        self.queue.push_back(Errand::Piece(piece));
    }

    /// Drops everything that the transport has not accepted, including ends of pauses: the other machine would find
    /// messages cut short.
    pub(super) fn give_up(&mut self) {
        self.messages = None;
        self.queue.clear();
    }

    /// Whether the transport has accepted everything.
    pub(super) fn is_done(&self) -> bool {
        self.unsent.is_none() && self.messages.is_none() && self.queue.is_empty()
    }

    /// Takes back the piece that the transport had no room for.
    pub(super) fn put_back(&mut self, piece: Piece) {
        self.unsent = Some(piece);
    }

    /// Drops everything, because the other machine is gone.
    pub(super) fn close(&mut self) {
        self.give_up();
        self.unsent = None;
    }

    /// The next piece for the transport.
    pub(super) fn next(&mut self, files: &LocalFiles) -> Result<Option<Piece>> {
        if let Some(piece) = self.unsent.take() {
            return Ok(Some(piece));
        }
        if let Some(messages) = &mut self.messages {
            if let Some(bytes) = messages.next(self.part)? {
                return Ok(Some(Piece { kind: PieceKind::Part, bytes }));
            }
            self.messages = None;
        }
        match self.queue.pop_front() {
            None => Ok(None),
            Some(Errand::Piece(piece)) => Ok(Some(piece)),
            Some(Errand::Messages { sequence, sender }) => {
                let path = outbox_path(&files.folder, sequence, sender);
                let (messages, header) = Messages::open(path, sender, &self.ranks, files)?;
                self.messages = Some(messages);
                let bytes = io::encode(&header)?;
                Ok(Some(Piece { kind: PieceKind::Messages, bytes }))
            }
        }
    }
}

impl Messages {
    /// Opens a sender's file for the messages to these ranks.
    fn open(
        path: PathBuf,
        sender: usize,
        ranks: &[usize],
        files: &LocalFiles,
    ) -> Result<(Self, MessagesHeader)> {
        let file = files.storage.open(&path).map_err(|e| Error::io("read", &path, e))?;
        let index = OutboxIndex::read(&*file, &path, files.world_size)?;
        let mut ranges: VecDeque<Range> = VecDeque::new();
        let mut total = 0;
        let mut place = |entry: MessageEntry| {
            let MessageEntry { offset, stored: len, .. } = entry;
            // A message to everyone is sent to each machine once.
            let again = ranges.back().is_some_and(|r| r.offset == offset && r.len == len);
            if !again {
                ranges.push_back(Range { offset, len });
                total += len;
            }
            MessageEntry { offset: total - len, ..entry }
        };
        let entries = ranks.iter().map(|rank| place(index.entries[*rank])).collect();
        let header = MessagesHeader { tag: index.tag.words(), sender, entries, len: total };
        Ok((Messages { path, file, cached: index.cached, ranges }, header))
    }

    /// The next bytes, at most `most`; `None` at the end.
    fn next(&mut self, most: usize) -> Result<Option<Vec<u8>>> {
        while let Some(range) = self.ranges.front_mut() {
            let len = range.len.min(most as u64);
            if len == 0 {
                self.ranges.pop_front();
                continue;
            }
            let mut bytes = vec![0; len as usize];
            let read = read_split(&*self.file, self.cached, &mut bytes, range.offset);
            read.map_err(|e| Error::io("read", &self.path, e))?;
            range.offset += len;
            range.len -= len;
            return Ok(Some(bytes));
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::DiskStorage;

    #[test]
    fn no_end_of_a_pause_follows_messages_that_are_given_up() {
        let storage = Arc::new(DiskStorage::default());
        let files = LocalFiles { folder: PathBuf::from("none"), storage, world_size: 2 };
        let piece = |kind| Piece { kind, bytes: Vec::new() };
        let mut outgoing = Outgoing::new(vec![1], 1);
        outgoing.add_messages(0, 0);
        outgoing.add(piece(PieceKind::EndOfPause));
        outgoing.give_up();
        assert!(outgoing.is_done());
        outgoing.add(piece(PieceKind::Stop));
        assert_eq!(outgoing.next(&files).unwrap().unwrap().kind, PieceKind::Stop);
        assert!(outgoing.next(&files).unwrap().is_none());
    }
}

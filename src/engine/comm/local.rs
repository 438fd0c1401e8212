//! The process group of threads in one process, with messages in memory: for tests, and for programs that train a
//! partitioned graph without worker processes.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;

use super::group::{
    Arrival, Collective, Inbox, Outbox, Posted, ProcessGroup, ReadOutboxes, Recipient,
};
use super::tag::{Operation, Tag};
use crate::engine::turns::Control;
use crate::error::{Error, Result};

/// The messages that a rank sent in one collective.
struct Letter {
    tag: Tag,
    bytes: Vec<u8>,
    /// Range of the message for each recipient.
    messages: Vec<Range<usize>>,
}

/// Letters by collective and sender.
type Mail = Mutex<HashMap<(u64, usize), Arc<Letter>>>;

/// One rank's view of the group of threads.
pub struct LocalGroup {
    control: Arc<Control>,
    mail: Arc<Mail>,
    rank: usize,
    next: Cell<u64>,
    read: ReadOutboxes,
}

impl LocalGroup {
    /// Creates one group per rank, each for its own thread; `control` is an in-memory block.
    pub fn all(control: &Arc<Control>) -> Vec<Self> {
        let mail = Arc::new(Mail::default());
        let group = |rank| LocalGroup {
            control: control.clone(),
            mail: mail.clone(),
            rank,
            next: Cell::new(0),
            read: ReadOutboxes::default(),
        };
        (0..control.num_ranks()).map(group).collect()
    }
}

impl ProcessGroup for LocalGroup {
    fn rank(&self) -> usize {
        self.rank
    }

    fn world_size(&self) -> usize {
        self.control.num_ranks()
    }

    fn shares_files(&self, _rank: usize) -> bool {
        true
    }

    fn outbox(&self, operation: Operation) -> Result<Box<dyn Outbox + '_>> {
        let tag = Tag { sequence: self.next.replace(self.next.get() + 1), operation };
        let letter = Letter { tag, bytes: Vec::new(), messages: vec![0..0; self.world_size()] };
        let (keep, recipient) = (false, None);
        Ok(Box::new(LocalOutbox { group: self, keep, letter, recipient, begin: 0 }))
    }

    fn arrive(&self) -> Arrival {
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
        for sequence in read {
            self.mail.lock().remove(&(sequence, self.rank));
        }
        Ok(collectives)
    }

    fn inbox(&self, collective: &Collective, from: usize) -> Result<Box<dyn Inbox>> {
        let letter = self.mail.lock().get(&(collective.tag.sequence, from)).cloned();
        let letter = letter
            .ok_or_else(|| Error::internal(format!("rank {from} has not posted its messages")))?;
        collective.tag.check(self.rank, letter.tag, from)?;
        let rest = letter.messages[self.rank].clone();
        Ok(Box::new(LocalInbox { letter, rest }))
    }
}

struct LocalOutbox<'a> {
    group: &'a LocalGroup,
    keep: bool,
    letter: Letter,
    recipient: Option<Recipient>,
    begin: usize,
}

impl LocalOutbox<'_> {
    fn end_message(&mut self) {
        let message = self.begin..self.letter.bytes.len();
        self.begin = message.end;
        match self.recipient.take() {
            Some(Recipient::Rank(rank)) => self.letter.messages[rank] = message,
            Some(Recipient::Everyone) => self.letter.messages.fill(message),
            None => {}
        }
    }
}

impl Outbox for LocalOutbox<'_> {
    fn begin(&mut self, recipient: Recipient) -> Result<()> {
        self.end_message();
        self.recipient = Some(recipient);
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.letter.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn keep(&mut self) {
        self.keep = true;
    }

    fn post(mut self: Box<Self>) -> Result<Posted> {
        self.end_message();
        let Self { group, keep, letter, .. } = *self;
        let tag = letter.tag;
        group.mail.lock().insert((tag.sequence, group.rank), Arc::new(letter));
        Ok(Posted { tag, keep })
    }
}

struct LocalInbox {
    letter: Arc<Letter>,
    rest: Range<usize>,
}

impl Inbox for LocalInbox {
    fn remaining(&self) -> u64 {
        self.rest.len() as u64
    }

    fn waits_for_disk(&self) -> bool {
        false
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<()> {
        if bytes.len() > self.rest.len() {
            let problem =
                format!("a message has {} bytes left, not {}", self.rest.len(), bytes.len());
            return Err(Error::internal(problem));
        }
        let part = self.rest.start..self.rest.start + bytes.len();
        self.rest.start = part.end;
        bytes.copy_from_slice(&self.letter.bytes[part]);
        Ok(())
    }

    fn damaged(&self, problem: &str) -> Error {
        Error::internal(problem.to_owned())
    }
}

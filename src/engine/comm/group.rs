//! The interface of a communication backend.

use std::sync::Arc;

use parking_lot::Mutex;
use tracing::debug;

use super::hooks::Hooks;
use super::tag::{Operation, Tag};
use crate::event::{SpanKind, span};
use crate::words::error::{Error, Result};

/// The ranks of a run, from one rank's view. All ranks make the same sequence of collectives.
pub trait ProcessGroup {
    /// Index of this rank, from 0.
    fn rank(&self) -> usize;

    /// Number of ranks.
    fn world_size(&self) -> usize;

    /// Whether this rank and `rank` see each other's files, which is the case on one machine.
    fn shares_files(&self, rank: usize) -> bool;

    /// Starts this rank's messages of the next collective, which must be the same operation on every rank.
    ///
    /// # Errors
    /// If the messages' file cannot be created (`Io`, `OutOfDisk`).
    fn outbox(&self, operation: Operation) -> Result<Box<dyn Outbox + '_>>;

    /// Marks this rank as arrived, with everything it has posted since its last arrival. Does not wait.
    fn arrive(&self) -> Arrival;

    /// Waits until every rank has arrived. Then messages from before the last arrival are removed, unless they are
    /// kept: a rank that arrives has finished reading them. `idle` runs before each sleep, a few times per second.
    ///
    /// # Errors
    /// If the run is being stopped (`Aborted`, `Interrupted`), old messages cannot be removed (`Io`), or `idle` fails.
    fn wait(
        &self,
        arrival: Arrival,
        posted: Vec<Posted>,
        idle: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Vec<Collective>>;

    /// The message that `from` sent to this rank.
    ///
    /// # Errors
    /// If the message cannot be opened (`Io`, `Corrupt`), or `from` posted it to another operation (`Worker`).
    fn inbox(&self, collective: &Collective, from: usize) -> Result<Box<dyn Inbox>>;
}

/// The recipient of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recipient {
    /// One rank.
    Rank(usize),
    /// Every rank, including the sender; the message is written once.
    Everyone,
}

/// A rank's messages of one collective, at most one per recipient. A rank that gets no message receives an empty one.
pub trait Outbox {
    /// Begins the message for `recipient`; bytes written next belong to it.
    ///
    /// # Errors
    /// If the end of the previous message cannot be stored (`Io`, `OutOfDisk`).
    fn begin(&mut self, recipient: Recipient) -> Result<()>;

    /// Appends bytes to the current message.
    ///
    /// # Errors
    /// If the bytes cannot be stored (`Io`, `OutOfDisk`).
    fn write(&mut self, bytes: &[u8]) -> Result<()>;

    /// Appends elements of `size` bytes each. If a message begins with elements and many of them are zero, it is
    /// packed.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    fn write_elements(&mut self, bytes: &[u8], size: usize) -> Result<()>;

    /// Keeps the messages until every rank has dropped its [`Collective`], so that they can be read again. All ranks
    /// must keep messages of the same collectives, and drop them between the same collectives.
    fn keep(&mut self);

    /// Makes the messages visible to the others.
    ///
    /// # Errors
    /// If the messages cannot be stored (`Io`, `OutOfDisk`).
    fn post(self: Box<Self>) -> Result<Posted>;
}

/// A message that has arrived; it is read sequentially.
pub trait Inbox: Send {
    /// Number of bytes left to read.
    fn remaining(&self) -> u64;

    /// Whether reading may wait for a disk.
    fn waits_for_disk(&self) -> bool;

    /// Fills `bytes` with the next part of the message.
    ///
    /// # Errors
    /// If the message cannot be read (`Io`), or ends early (`Corrupt`).
    fn read(&mut self, bytes: &mut [u8]) -> Result<()>;

    /// An error for a message that differs from the sent one.
    fn damaged(&self, problem: &str) -> Error;
}

/// A collective whose messages have been posted by this rank.
#[derive(Debug)]
#[must_use]
pub struct Posted {
    pub(super) tag: Tag,
    pub(super) keep: bool,
}

/// A rank's arrival, after it has posted its messages.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    pub(super) generation: u32,
}

/// A collective whose messages have been posted by every rank.
#[derive(Debug)]
pub struct Collective {
    pub(super) tag: Tag,
    /// Held only to be dropped with the collective.
    _outbox: Option<KeptOutbox>,
}

/// Numbers of the rank's outboxes that every rank will have read by the next collective.
#[derive(Debug, Default)]
pub(super) struct ReadOutboxes(Arc<Mutex<Vec<u64>>>);

impl ReadOutboxes {
    /// Called when every rank has arrived: returns the collectives, and the outboxes that can be removed.
    pub(super) fn complete(&self, posted: &[Posted]) -> (Vec<Collective>, Vec<u64>) {
        let read = std::mem::take(&mut *self.0.lock());
        let collectives = posted.iter().map(|posted| {
            let outbox = KeptOutbox { sequence: posted.tag.sequence, read: self.0.clone() };
            // Without `keep` the outbox is dropped here, because every rank reads it before it arrives again.
            let outbox = posted.keep.then_some(outbox);
            Collective { tag: posted.tag, _outbox: outbox }
        });
        (collectives.collect(), read)
    }
}

/// A kept outbox of this rank, which other ranks may read until this is dropped.
#[derive(Debug)]
struct KeptOutbox {
    sequence: u64,
    read: Arc<Mutex<Vec<u64>>>,
}

impl Drop for KeptOutbox {
    fn drop(&mut self) {
        self.read.lock().push(self.sequence);
    }
}

/// Completes one collective; see [`complete_all`].
///
/// # Errors
/// If a hook fails, or the run is being stopped (`Aborted`, `Interrupted`).
pub fn complete(group: &dyn ProcessGroup, posted: Posted, hooks: &dyn Hooks) -> Result<Collective> {
    let missing = || Error::internal("a collective without a handle");
    complete_all(group, vec![posted], hooks)?.pop().ok_or_else(missing)
}

/// Runs the pause between posting and reading. Turn, spilling and collectives meet only here. All collectives that a
/// rank has posted since its last pause share one.
///
/// # Errors
/// If a hook fails, or the run is being stopped (`Aborted`, `Interrupted`).
pub fn complete_all(
    group: &dyn ProcessGroup,
    posted: Vec<Posted>,
    hooks: &dyn Hooks,
) -> Result<Vec<Collective>> {
    let tags: Vec<Tag> = posted.iter().map(|posted| posted.tag).collect();
    let arrival = group.arrive();
    for tag in &tags {
        debug!(collective = tag.sequence, operation = %tag.operation, "posted");
    }
    hooks.precall()?;
    let waits = span(SpanKind::Wait, "wait for other ranks");
    let collectives = group.wait(arrival, posted, &mut || hooks.idle())?;
    drop(waits);
    for tag in &tags {
        debug!(collective = tag.sequence, operation = %tag.operation, "complete");
    }
    hooks.callback()?;
    Ok(collectives)
}

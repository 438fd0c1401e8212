//! What a backend has to offer.

use super::hooks::Hooks;
use crate::error::Result;

/// The ranks of a run, as one of them sees it. Every rank makes the same sequence of collectives.
pub trait ProcessGroup {
    /// This rank, from 0.
    fn rank(&self) -> usize;

    /// How many ranks there are.
    fn world_size(&self) -> usize;

    /// Starts this rank's messages of the next collective.
    fn outbox(&self) -> Result<Box<dyn Outbox + '_>>;

    /// Waits until every rank has posted its messages. What was posted to the collective before this one may be gone
    /// afterwards: everybody who posts has finished reading.
    fn wait(&self, posted: Posted) -> Result<Collective>;

    /// What `from` sent to this rank.
    fn inbox(&self, collective: &Collective, from: usize) -> Result<Box<dyn Inbox>>;
}

/// Whom a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recipient {
    /// One rank.
    Rank(usize),
    /// Every rank, the sender included; written once.
    Everyone,
}

/// A rank's messages of one collective. Each rank gets at most one; who gets none receives an empty one.
pub trait Outbox {
    /// Begins the message for `recipient`; bytes written from here on belong to it.
    fn begin(&mut self, recipient: Recipient);

    /// Appends bytes to the message begun last.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;

    /// Makes the messages visible to the others and counts this rank as arrived. Does not wait.
    fn post(self: Box<Self>) -> Result<Posted>;
}

/// A message that has arrived, read front to back.
pub trait Inbox {
    /// Bytes left to read.
    fn remaining(&self) -> u64;

    /// Fills `bytes` with the next part.
    fn read(&mut self, bytes: &mut [u8]) -> Result<()>;
}

/// A collective whose messages this rank has posted.
#[derive(Debug)]
#[must_use]
pub struct Posted {
    pub(super) sequence: u64,
    pub(super) generation: u32,
}

/// A collective that every rank has posted to.
#[derive(Debug)]
pub struct Collective {
    pub(super) sequence: u64,
}

/// The pause between posting and reading: the only place where turn, spilling and collectives meet.
pub fn complete(group: &dyn ProcessGroup, posted: Posted, hooks: &dyn Hooks) -> Result<Collective> {
    hooks.precall()?;
    let collective = group.wait(posted)?;
    hooks.callback()?;
    Ok(collective)
}

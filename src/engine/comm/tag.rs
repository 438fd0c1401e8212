//! Tags by which messages identify their collective.

use std::fmt;

use crate::error::{Error, ErrorKind, Result};

/// The operation of a collective. All ranks run the same operations in the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// [`exchange_tensors`](super::exchange_tensors) and [`all_to_all`](super::all_to_all).
    ExchangeTensors,
    /// [`exchange_single_tensor`](super::exchange_single_tensor).
    ExchangeSingleTensor,
    /// [`all_gather`](super::all_gather).
    AllGather,
    /// [`all_reduce`](super::all_reduce).
    AllReduce,
    /// [`broadcast`](super::broadcast).
    Broadcast,
    /// [`barrier`](super::barrier).
    Barrier,
    /// Rows of sources are sent to the ranks that have edges from them.
    PullRows,
    /// Gradients of sources are sent to their owners.
    PushRows,
    /// Edges are sent whose messages the owner of the sources sums.
    CoverEdges,
    /// Scores of classes are sent, for the area under the curve.
    CompareScores,
    /// [`tell_machines`](super::tell_machines).
    TellMachines,
    /// A rank's work is complete; no collective follows.
    End,
}

/// All operations; the index in this list is an operation's code in a message.
const OPERATIONS: [Operation; 12] = [
    Operation::ExchangeTensors,
    Operation::ExchangeSingleTensor,
    Operation::AllGather,
    Operation::AllReduce,
    Operation::Broadcast,
    Operation::Barrier,
    Operation::PullRows,
    Operation::PushRows,
    Operation::CoverEdges,
    Operation::CompareScores,
    Operation::TellMachines,
    Operation::End,
];

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operation::ExchangeTensors => "exchange_tensors",
            Operation::ExchangeSingleTensor => "exchange_single_tensor",
            Operation::AllGather => "all_gather",
            Operation::AllReduce => "all_reduce",
            Operation::Broadcast => "broadcast",
            Operation::Barrier => "barrier",
            Operation::PullRows => "pull of rows",
            Operation::PushRows => "push of rows",
            Operation::CoverEdges => "division of edges",
            Operation::CompareScores => "comparison of scores",
            Operation::TellMachines => "message to other machines",
            Operation::End => "end of the run",
        })
    }
}

/// The rule that ranks in different collectives have broken.
const ALIKE: &str = "all ranks have to make the same collectives in the same order: make none in a branch or a loop that differs between ranks";

/// Position of a collective in a rank's sequence, and its operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) sequence: u64,
    pub(super) operation: Operation,
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "collective {} ({})", self.sequence, self.operation)
    }
}

impl Tag {
    /// The tag in stored form.
    pub(super) fn words(self) -> [u64; 2] {
        [self.sequence, self.operation as u64]
    }

    /// Parses a stored tag; `None` if the operation is unknown.
    pub(super) fn from_words([sequence, code]: [u64; 2]) -> Option<Self> {
        let operation = *OPERATIONS.get(usize::try_from(code).ok()?)?;
        Some(Tag { sequence, operation })
    }

    /// Returns an error if rank `from` has posted to a different collective than rank `own` reads.
    pub(super) fn check(self, own: usize, sent: Tag, from: usize) -> Result<()> {
        if self == sent {
            return Ok(());
        }
        let problem = format!("rank {own} is in {self}, but rank {from} sent a message of {sent}");
        Err(Error::new(ErrorKind::Worker, problem).with_hint(ALIKE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_an_operation_is_its_place_in_the_list() {
        for (i, operation) in OPERATIONS.into_iter().enumerate() {
            let tag = Tag { sequence: 7, operation };
            assert_eq!(tag.words(), [7, i as u64]);
            assert_eq!(Tag::from_words(tag.words()), Some(tag));
        }
        assert_eq!(Tag::from_words([0, OPERATIONS.len() as u64]), None);
    }
}

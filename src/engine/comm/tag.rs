//! Tags by which messages identify their collective.

use std::fmt;

use crate::words::choice::{Choice, choices};
use crate::words::error::{Error, ErrorKind, Result};

choices! {
    /// The operation of a collective. All ranks run the same operations in the same order.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Operation {
        /// [`exchange_tensors`](super::exchange_tensors) and [`all_to_all`](super::all_to_all).
        ExchangeTensors = "exchange_tensors",
        /// [`exchange_single_tensor`](super::exchange_single_tensor).
        ExchangeSingleTensor = "exchange_single_tensor",
        /// [`all_gather`](super::all_gather).
        AllGather = "all_gather",
        /// [`all_reduce`](super::all_reduce).
        AllReduce = "all_reduce",
        /// [`broadcast`](super::broadcast).
        Broadcast = "broadcast",
        /// [`barrier`](super::barrier).
        Barrier = "barrier",
        /// Rows of sources are sent to the ranks that have edges from them.
        PullRows = "pull of rows",
        /// Gradients of sources are sent to their owners.
        PushRows = "push of rows",
        /// Edges are sent whose messages the owner of the sources sums.
        CoverEdges = "division of edges",
        /// Scores of classes are sent, for the area under the curve.
        CompareScores = "comparison of scores",
        /// [`tell_machines`](super::tell_machines).
        TellMachines = "message to other machines",
        /// [`end_together`](super::end_together).
        End = "end of the run",
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name().unwrap_or_default())
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
        let operation = Operation::VALUES.get(usize::try_from(code).ok()?)?.value;
        Some(Tag { sequence, operation })
    }

    /// Returns an error if rank `from` has posted to a different collective than rank `own` reads.
    pub(super) fn check(self, own: usize, sent: Tag, from: usize) -> Result<()> {
        if self == sent {
            return Ok(());
        }
        let problem = format!("rank {own} is in {self}, but rank {from} sent a message of {sent}");
        Err(unlike(problem))
    }
}

/// The error of ranks that do not make the same collectives.
pub(super) fn unlike(problem: impl Into<String>) -> Error {
    Error::new(ErrorKind::Worker, problem).with_hint(ALIKE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::choice::Named;

    #[test]
    fn the_code_of_an_operation_is_its_place_in_the_list() {
        for (i, Named { value: operation, .. }) in Operation::VALUES.iter().enumerate() {
            let tag = Tag { sequence: 7, operation: *operation };
            assert_eq!(tag.words(), [7, i as u64]);
            assert_eq!(Tag::from_words(tag.words()), Some(tag));
        }
        assert_eq!(Tag::from_words([0, Operation::VALUES.len() as u64]), None);
    }
}

//! Graphs as index arrays: who owns which node and edge. Nothing here knows libtorch.

pub mod canonical_etype;
pub mod id_ranges;
pub mod partition_book;

pub use canonical_etype::CanonicalEtype;
pub use id_ranges::IdRanges;
pub use partition_book::PartitionBook;

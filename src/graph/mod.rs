//! Graph structure: adjacency in compressed rows, and the part of it that connects two partitions.

mod csr;
mod shard;

pub use csr::Csr;
pub use shard::{EdgeWeights, GraphShard, ShardBuilder};

//! Graphs as index arrays: compressed rows, shards that connect two partitions, and owners of nodes and edges. No
//! module here uses libtorch.

mod bitmap;
mod block;
mod book_maps;
mod canonical_etype;
mod covered_edges;
mod csr;
mod hetero_block;
mod id_ranges;
mod partition_book;
mod shard;
mod vertex_cover;

pub(crate) use bitmap::{Bitmap, RankedBitmap};
pub use block::{Block, InEdges};
pub use book_maps::PartitionMetadata;
pub use canonical_etype::CanonicalEtype;
pub use covered_edges::{CoveredEdges, SummedEdges};
pub use csr::Csr;
pub use hetero_block::{BlockRelation, HeteroBlock, TypedNodes};
pub use id_ranges::IdRanges;
pub use partition_book::{PartitionBook, TypeNodes};
pub use shard::{GraphShard, ShardBuilder, SortedEdges};
pub use vertex_cover::VertexCover;

/// Maximum number of nodes or edges; more do not fit on any disk.
pub(crate) const MAX_IDS: u64 = 1 << 40;

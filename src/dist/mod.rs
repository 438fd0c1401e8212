//! A partitioned graph on disk as one whole: DGL's distributed programming surface without servers.
//!
//! [`DistGraph`] answers for the whole graph by short reads of the partitions' files: [`NeighborIndex`] holds a
//! partition's in-edges by destination, [`NodeColumn`](crate::data::NodeColumn) reads rows of node features.

mod dist_graph;
mod draws;
mod fanout;
mod index_writer;
mod neighbor_index;
mod sample;

pub use dist_graph::DistGraph;
pub(crate) use draws::permutation;
pub use fanout::Fanout;
pub use index_writer::{EdgeKeys, write_index};
pub use neighbor_index::NeighborIndex;
pub use sample::{SampleKey, Sampling};

//! A partitioned graph on disk as one whole: DGL's distributed interface without servers.
//!
//! [`DistGraph`] reads short ranges of all partitions' files: a [`NeighborIndex`] holds a partition's in-edges by
//! destination, a [`NodeColumn`](crate::load::NodeColumn) reads rows of node features. If each rank has its own disk,
//! [`CollectiveGraph`] requests them from the other ranks.

mod collective_graph;
mod dist_embedding;
mod dist_graph;
mod dist_tensor;
mod draws;
mod edge_subgraph;
mod edgeless_graph;
mod fanout;
mod frequent_sources;
mod graph_source;
mod index_file;
mod index_writer;
mod machine_rows;
mod mask;
mod mt19937;
mod neighbor_index;
mod out_edges;
mod own_rows;
mod partition_policy;
mod sample;
mod sorted;
mod sparse_optimizer;
mod sparse_rule;
mod sparse_saving;
mod split;
mod start_values;

pub use collective_graph::CollectiveGraph;
pub use dist_embedding::DistEmbedding;
pub use dist_graph::DistGraph;
pub use dist_tensor::{DistElement, DistTensor, DistTensorConfig};
pub use draws::SampleKey;
pub(crate) use draws::{Draws, NEGATIVES, permutation};
pub use edge_subgraph::EdgeSubgraph;
pub use edgeless_graph::EdgelessGraph;
pub use fanout::Fanout;
pub use graph_source::GraphSource;
pub use index_writer::write_index;
pub use mask::SplitMask;
pub use neighbor_index::{IndexConfig, NeighborIndex};
pub use out_edges::{OutEdgeIndex, OutNeighbors};
pub use own_rows::{edge_data, node_data};
pub use partition_policy::PartitionPolicy;
pub use sample::Sampling;
pub use sparse_optimizer::{SparseAdagrad, SparseAdam, SparseOptimizer};
pub use sparse_rule::{Adagrad, Adam, SparseRule};
pub use split::{SplitBy, TrainerRank, edge_split, node_split};
pub use start_values::start_values;

//! From a graph in a user's files to partitions, in bounded memory.
//!
//! Edges are read once into a temporary file. A partitioner assigns 16 bits to each node. Edges are then sorted on disk
//! by partition, type, destination and source, the order of partition files; rows of tables are moved in buckets of
//! neighbouring places. Memory holds a few bytes per node, and buffers whose size depends on `--memory`.

mod adjacency;
mod balance;
mod child;
mod communities;
mod edge_rules;
mod edge_tables;
mod extended;
mod final_edges;
mod loads;
mod memory;
mod metis;
mod node_map;
mod node_tables;
pub(crate) mod partition_graph;
mod partitioner;
mod progress;
mod recorded_rules;
mod report;
mod request;
mod row_scatter;
mod seed_groups;
mod simple;
mod space;
mod stream;
mod train_nodes;

pub(crate) use memory::left_of;
pub(crate) use progress::Meter;
pub(crate) use row_scatter::RowScatter;

pub use child::peak_memory;
pub use extended::{ExtendedPartitions, GraphAdditions, extend_partitions};
pub use memory::default_memory;
pub use partition_graph::{Partitioned, partition_graph, partition_graph_into};
pub use progress::{Observer, StepProgress};
pub use report::{PartitionReport, PartitionSize};
pub(in crate::prepare) use request::MAX_PARTS;
pub use request::{EdgeRules, LocalOrder, Method, PartitionRequest, SelfLoops, check_num_parts};
pub use seed_groups::{SeedGroups, seed_groups_file};
pub use space::PartitionSpace;

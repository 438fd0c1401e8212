//! Statistics of a partitioned graph: degrees, classes, masks, values. Everything is read once, a partition at a time.

mod columns;
mod degrees;
mod graph;

pub use columns::{ClassCounts, MaskSize, ValueCounts};
pub use degrees::Degrees;
pub use graph::{GraphStatistics, graph_statistics};

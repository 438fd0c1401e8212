//! The partitioner for graphs of any size.

mod clusters;
mod counts;
mod quotient;
mod refine;
mod stream_partitioner;

pub(super) use stream_partitioner::StreamPartitioner;

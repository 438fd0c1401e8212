//! The partitioner for graphs of any size.
//!
//! Four passes of label propagation over the neighbour lists make up to 65535 clusters, METIS partitions the graph of
//! clusters, and up to twelve passes refine the cut. In the first six of these, partitions may be up to a fifth too
//! large, so that communities come together that METIS could not see in the clusters.

mod clusters;
mod counts;
mod quotient;
mod refine;
mod stream_partitioner;

pub(super) use stream_partitioner::stream_parts;

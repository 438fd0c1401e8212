//! Operations on the tape, each forward pass next to its adjoint.

pub(super) mod aggregate;
pub(super) mod attend;
mod attention_edges;
pub(super) mod batch_norm;
mod dense;
mod dropout;
mod edge_chunks;
mod edge_reduce;
mod edge_softmax;
mod entries;
pub(super) mod linear;
pub(super) mod messages;
pub(super) mod propagate;
mod pushed;
mod relu;
mod rows;
mod segment;
mod segment_grad;
mod select;
mod stack;
mod typed;
mod weighted_sum;

//! What a model's forward pass writes to, and how it is played backwards.
//!
//! libtorch's autograd never sees the graph: it works inside one [segment](Tape::segment) at a time. Everything else
//! (linear maps, aggregation, dropout) has an adjoint of its own, written beside its forward pass.
//!
//! Values are [`PointerTensor`](crate::spill::PointerTensor)s, so nothing a model computes outlives a pause in memory.
//! What is cheap to compute again (segments, dropout) is never written to disk: it is rematerialised from its inputs when
//! it is next used.

mod aggregate;
mod attend;
mod attention_edges;
mod batch_norm;
mod block_graph;
mod constants;
mod dense;
mod dropout;
mod edge_chunks;
mod edge_reduce;
mod edge_softmax;
mod edge_weight_norm;
mod full_partition;
mod graph;
mod hetero;
mod hetero_block_graph;
mod letting_go;
mod linear;
mod manager;
mod messages;
mod mfg;
mod parameters;
mod pick_rows;
mod propagate;
mod record;
mod relu;
mod requests;
mod rows;
mod segment;
mod segment_grad;
mod select;
mod typed;
mod var;

pub use aggregate::{Aggregation, Reduce};
pub use attend::{Attend, Scoring};
pub use batch_norm::BatchStatistics;
pub use block_graph::BlockGraph;
pub use constants::Constants;
pub use full_partition::FullPartitionGraph;
pub use graph::{Graph, MakeRows, Pulled, RowLayout, Transfer, VisitRows, VisitShard};
pub use hetero::{HeteroGraph, HeteroGraphShardManager, Relation};
pub use hetero_block_graph::HeteroBlockGraph;
pub use linear::{DerivedWeight, Weight};
pub use manager::GraphShardManager;
pub use mfg::{Mfgs, construct_mfgs};
pub use parameters::{Buffer, Entry, Init, Parameter, ParameterBuilder, ParameterSet};
pub use propagate::{EdgeBatch, Propagation};
pub use record::{Gradients, Policy, Tape};
pub use var::Var;

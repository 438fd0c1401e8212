//! Records a model's forward pass and plays it backwards.
//!
//! libtorch's autograd never sees the graph: it works inside one [segment](Tape::segment) at a time. All other
//! operations (linear maps, aggregation, dropout) have adjoints of their own, written next to their forward passes.
//!
//! Values are [`PointerTensor`](crate::engine::spill::PointerTensor)s, so none stays in memory through a pause. Values
//! that are cheap to recompute (segments, dropout) are never written to disk, but rematerialised from their inputs at
//! their next use.

mod computation;
mod constants;
mod gradients;
mod graphs;
mod init;
mod letting_go;
mod ops;
mod parameters;
mod record;
mod remembering;
mod var;

pub use constants::Constants;
pub use gradients::Gradients;
pub use graphs::block_graph::{BlockGraph, SourceDegrees};
pub use graphs::edge_inputs::{EdgeInputs, EdgeSource};
pub use graphs::exchange::Exchange;
pub use graphs::full_partition::FullPartitionGraph;
pub use graphs::graph::{Ends, Graph, MakeRows, Pulled, VisitRows, VisitShard};
pub use graphs::graph_shard_manager::GraphShardManager;
pub use graphs::hetero::{HeteroGraph, HeteroGraphShardManager, Relation};
pub use graphs::hetero_block_graph::{HeteroBlockGraph, RelationData};
pub use graphs::hetero_mfg::{HeteroMfgs, construct_hetero_mfgs};
pub use graphs::mfg::{Mfgs, Region, construct_mfgs, construct_region};
pub use graphs::out_edges::OutEdges;
pub use graphs::row_layout::RowLayout;
pub use init::{Init, InitStyle};
pub use ops::aggregate::{Aggregation, Reduce};
pub use ops::attend::{Attend, Scoring};
pub use ops::batch_norm::BatchStatistics;
pub use ops::linear::{DerivedWeight, Weight};
pub use ops::propagate::{EdgeBatch, Propagation};
pub use parameters::{Buffer, Entry, Parameter, ParameterBuilder, ParameterSet};
pub use record::{Begun, Computation, Policy, Tape, Waiting};
pub use var::Var;

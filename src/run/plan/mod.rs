//! The plan of a run: its memory, disk, bytes and time, predicted before it starts.
//!
//! The plan has no cost model of layers. All that a run takes (bytes exchanged, spilled and read, memory, files) is linear in
//! each rank's nodes, halo rows and edges, for a given model and its widths. So the model is run, by the same code and in as
//! processes of the same kind, on small stand-ins for the graph, of two sizes and of up to six ranks. Ranks and pairs of ranks
//! have the real ones' proportions. The line through two sizes, extended to the real size and number of ranks, is the forecast.
//!
//! Stand-ins must reach the sizes from which the run behaves as it will: a buffer of a fixed size
//! shows as a constant only if a stand-in fills it, and the allocator's threshold is scaled with
//! the graph. Sizes of large graphs are estimated from samples of their edges. The launcher adds up
//! the peak of each rank's anonymous memory, what ranks take at pauses, and pages of code that it
//! does not have itself.

mod advice;
mod aside;
mod bound;
mod check;
mod counts;
mod disk_probe;
mod edge_count;
mod forecast;
mod graph_shape;
mod graph_sizes;
mod measure;
mod num_parts;
mod parts_chooser;
mod report;
mod stand_in;
mod trend;

pub(super) use check::{PlannedRun, check};
pub use graph_shape::GraphShape;
pub use num_parts::PlannedParts;
pub use parts_chooser::PartsChooser;
pub use report::{DiskPlan, EpochPlan, MemoryPlan, Plan, plan};

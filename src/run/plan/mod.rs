//! The plan of a run: memory, disk, bytes and time, predicted before the run starts.
//!
//! The plan has no cost model of layers. For a given model and widths, everything that a run takes (bytes exchanged,
//! spilled and read, memory, files) is linear in each rank's nodes, halo rows and edges. So the model runs, with the
//! same code and in processes of the same kind, on small stand-ins for the graph, with two sizes and up to six ranks.
//! Ranks and pairs of ranks have the same proportions as in the real graph. The line through two sizes, extended to the
//! real size and number of ranks, is the forecast.
//!
//! Stand-ins must be large enough to behave like the run: a buffer of a fixed size shows as a constant only if a
//! stand-in fills it, and the allocator's threshold is scaled with the graph. Sizes of large graphs are estimated from
//! samples of their edges. The forecast of memory is the sum of what all ranks take at pauses, the peaks of the
//! resident ranks, and, once, the launcher's memory with the files that processes map.

mod advice;
pub(super) mod aside;
mod bound;
mod check;
mod counts;
mod edge_count;
mod forecast;
mod graph_shape;
mod graph_sizes;
mod measure;
mod num_parts;
mod parts_chooser;
mod planning;
mod report;
mod stand_in;
mod trend;

pub(super) use check::{PlannedRun, check};
pub use graph_shape::GraphShape;
pub use num_parts::PlannedParts;
pub use parts_chooser::PartsChooser;
pub use planning::plan;
pub use report::{DiskPlan, EpochPlan, MemoryPlan, Plan};

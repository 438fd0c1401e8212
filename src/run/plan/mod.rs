//! The plan of a run: what it will take, computed before it starts.
//!
//! The plan has no cost model of layers. All that a run takes (bytes exchanged, spilled and read, memory, files) is linear in
//! each rank's nodes, halo rows and edges, for a given model and its widths. So the model is run, by the same code and in as
//! many processes, on two small stand-ins for the graph, whose ranks and pairs of ranks have the real ones' proportions. The
//! line through the two measurements, extended to the real size, is the forecast.

mod advice;
mod bound;
mod check;
mod counts;
mod forecast;
mod graph_sizes;
mod measure;
mod report;
mod stand_in;
mod trend;

pub(super) use check::{PlannedRun, check};
pub use report::{DiskPlan, EpochPlan, MemoryPlan, Plan, plan};

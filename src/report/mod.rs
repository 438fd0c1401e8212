//! A page that shows runs: one HTML file, without other files and scripts.

mod axis;
mod chart;
mod confusion;
mod differences;
mod escape;
mod page;
mod run_data;
mod series;
mod summary;
mod timeline;

pub use page::{Page, page};
pub use run_data::{RunData, RunFiles};

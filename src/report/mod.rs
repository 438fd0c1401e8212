//! A page that shows runs: one HTML file, without other files and scripts.

mod axis;
mod best;
mod chart;
mod confusion;
mod costs;
mod date;
mod differences;
mod escape;
mod heading;
mod page;
mod scores;
mod series;
mod table;
mod timeline;

pub use best::BestValidation;
pub use page::{Page, page};

//! The full check of a partition directory: everything that opening leaves out because it reads whole columns.

pub(super) mod directory;
mod edges;
mod features;
mod nodes;

pub use directory::verify;

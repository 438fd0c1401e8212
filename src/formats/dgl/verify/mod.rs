//! The full check of a partition directory, including checks that opening omits because they read whole columns.

pub(super) mod directory;
mod edges;
mod features;
mod nodes;

pub use directory::verify;

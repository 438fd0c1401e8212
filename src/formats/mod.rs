//! Files of other programs.

pub mod dgl;
pub(crate) mod graphbolt;

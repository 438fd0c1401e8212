//! Bytes on disk: element types.

pub mod dtype;

pub use dtype::Dtype;

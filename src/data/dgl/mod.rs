//! DGL's partition files.

pub mod array;
pub mod file;
pub mod fused_csc;
pub mod graph_file;
pub mod graph_record;
pub mod npy;
pub mod relation;
pub mod sparse;
pub mod tensor_file;

mod graph_v1;
mod header;
mod magic;
mod ndarray;
mod pickle;
mod pickle_value;
mod torch_archive;

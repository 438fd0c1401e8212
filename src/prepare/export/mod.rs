//! From a partition directory to files of other programs.

mod data_set;
mod exported_arrays;
mod npy_file;
mod order;
mod torch_rows;

pub use data_set::write_data_set;

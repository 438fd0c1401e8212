//! Files of arrays: DGL's records and tensor files, numpy's, and PyTorch's archives.

pub mod array;
pub(crate) mod array_file;
pub(crate) mod blocks;
pub(crate) mod file;
pub(in crate::formats::dgl) mod finite_rows;
pub(crate) mod header;
pub(crate) mod magic;
pub(in crate::formats::dgl) mod ndarray;
pub mod npy;
pub(in crate::formats::dgl) mod pickle;
pub(in crate::formats::dgl) mod pickle_value;
pub(crate) mod saved_tensors;
pub mod tensor_file;
pub(in crate::formats::dgl) mod torch_archive;

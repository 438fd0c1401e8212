//! Writing partition directories as DGL 1.0 and later write them.
//!
//! All sizes are given first; then arrays are appended in chunks, in any interleaving, and no array is ever held in
//! memory. Each file gets its name when it is complete.

mod array_writer;
mod graph_writer;
mod output_file;
mod partition_json;
mod partition_writer;
mod tensor_writer;

pub use array_writer::ArrayWriter;
pub use graph_writer::GraphWriter;
pub use partition_writer::{FeatureSpec, PartitionWriter};
pub use tensor_writer::{TensorSpec, TensorWriter};

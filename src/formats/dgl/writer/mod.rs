//! Writes partition directories in the format of DGL 1.0 and later.
//!
//! All sizes are passed first; then arrays are appended in chunks, interleaved in any way. No array is held in memory.
//! Each file gets its name when it is complete.

mod array_writer;
mod graph_folder;
mod graph_writer;
mod output_file;
mod partition_json;
mod partition_writer;
mod structure;
mod tensor_writer;

pub use array_writer::ArrayWriter;
pub(crate) use graph_folder::{check_graph_name, graph_folder};
pub use graph_writer::GraphWriter;
pub use partition_writer::{FeatureSpec, PartitionWriter};
pub(crate) use structure::{Halo, PartitionEdges, write_structure};
pub use tensor_writer::{TensorSpec, TensorWriter};

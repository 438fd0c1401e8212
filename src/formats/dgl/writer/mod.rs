//! Writing partition directories as DGL 1.0 and later write them.
//!
//! All sizes are given first; then arrays are appended in chunks, in any interleaving, and no array is ever held in memory.
//! Each file gets its name when it is complete.

mod array_writer;
mod graph_writer;
mod output_file;
mod output_folder;
mod partition_json;
mod partition_writer;
mod space;
mod structure;
mod tensor_writer;

pub use array_writer::ArrayWriter;
pub use graph_writer::GraphWriter;
pub(crate) use output_folder::{OutputFolder, check_graph_name};
pub use partition_writer::{FeatureSpec, PartitionWriter};
pub(crate) use space::check_space;
pub(crate) use structure::{Halo, PartitionEdges, write_structure};
pub use tensor_writer::{TensorSpec, TensorWriter};

//! Ids of nodes in files, and the numbers that nodes get.

mod id_space;
mod node_names;
mod table_ids;

pub(crate) use id_space::{IdSpace, LIST, WITH_NEW_NODES};
pub use node_names::NodeNames;
pub(crate) use node_names::{NODE_NAMES, NamesMemory, names_file};
pub(crate) use table_ids::TableIds;

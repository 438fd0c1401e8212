//! Sources of graphs: files, layouts of other tools, standard input, and partition directories.

mod chunked;
mod npz;
mod ogb;
mod ogb_folder;
mod ogb_relations;
mod on_disk_dataset;
mod partitions;
mod source;
mod stdin;

pub(crate) use partitions::OpenedPartitions;
pub use partitions::import_partitions;
pub use source::ImportSource;

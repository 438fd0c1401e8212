//! Edges of the graph's files, into its types or into a spool, and notes about them.

mod edge_files;
mod edge_remarks;
mod spooled_edges;

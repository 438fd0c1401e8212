//! Graph layers, one file each.

pub(super) mod gat;
pub(super) mod gatv2;
pub(super) mod gcn;
pub(super) mod gin;
pub(super) mod heads;
pub(super) mod hetero_graph_conv;
pub(super) mod layer;
pub(super) mod rgcn;
pub(super) mod sage;

//! Training nodes of a graph.

use crate::graph::Bitmap;
use crate::load::MASKS;
use crate::prepare::import::RawGraph;
use crate::words::error::Result;

/// Nodes in the usual mask, by homogeneous id; `None` without the mask.
pub(super) fn train_nodes(graph: &RawGraph) -> Result<Option<Bitmap>> {
    let first_nodes = graph.first_nodes();
    let mut found = None;
    for (ntype, first) in graph.ntypes.iter().zip(first_nodes) {
        let Some((_, mask)) = ntype.data.iter().find(|(name, _)| name == MASKS[0]) else {
            continue;
        };
        let set = found.get_or_insert_with(|| Bitmap::new(graph.num_nodes()));
        mask.members(|node| {
            set.insert(first + node);
        })?;
    }
    Ok(found)
}

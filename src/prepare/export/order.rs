//! The order of a type's nodes in a data set.

use crate::graph::Bitmap;
use crate::prepare::import::NodeType;
use crate::words::error::Result;

/// Places of a type's nodes: their original ids, if these number the nodes from 0; otherwise their numbers in the
/// partition directory.
pub(super) struct NodeOrder(Option<Vec<u64>>);

impl NodeOrder {
    /// Memory per node in bytes: the place, and some bits.
    pub(super) const BYTES: u64 = size_of::<u64>() as u64 + 1;

    /// The order of the nodes of `ntype`.
    pub(super) fn of(ntype: &NodeType) -> Result<Self> {
        let (mut seen, mut places) = (Bitmap::new(ntype.count), Vec::new());
        let mut is_order = true;
        ntype.original_ids(|ids| {
            is_order = is_order && ids.iter().all(|id| seen.insert(*id));
            places.extend_from_slice(ids);
            Ok(())
        })?;
        Ok(NodeOrder(Some(places).filter(|_| is_order)))
    }

    /// Whether the original ids are the places.
    pub(super) fn is_original(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn place(&self, node: u64) -> u64 {
        self.0.as_ref().map_or(node, |places| places[node as usize])
    }
}

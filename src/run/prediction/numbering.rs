//! The ids by which a prediction calls nodes.

use std::path::Path;

use crate::formats::dgl::Partition;
use crate::formats::dgl::config::PartitionConfig;
use crate::run::rank::{NodeOrder, PredictConfig};
use crate::words::error::Result;

/// The ids of a prediction's nodes, which also order its rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbering {
    pub(super) order: NodeOrder,
    /// Whether ids are those of the partitions, which the user's own data do not have.
    pub(super) of_partitions: bool,
    /// Whether the user has asked for this order.
    requested: bool,
}

impl Numbering {
    /// The numbering that the configuration asks for; else original ids, if they are known for these node types.
    pub(super) fn new(
        config: &PredictConfig,
        partitions: &PartitionConfig,
        ntypes: &[usize],
    ) -> Result<Self> {
        let mut known = true;
        let partition = Partition::open(partitions, partitions.first_present())?;
        for ntype in ntypes {
            known &= partition.orig_node_ids(*ntype)?.is_some();
        }
        let kept = partitions.keeps_numbers();
        let order = match config.order {
            // The partitions keep the user's numbering.
            Some(NodeOrder::Original) if !known && kept => NodeOrder::Partition,
            Some(order) => order,
            None if known => NodeOrder::Original,
            None => NodeOrder::Partition,
        };
        let of_partitions = order == NodeOrder::Partition && !kept;
        Ok(Numbering { order, of_partitions, requested: config.order.is_some() })
    }

    /// A remark on ids that the user's data do not have, and how to get the others; `None` if the user has asked for them.
    pub(super) fn note(self, json: &Path) -> Option<String> {
        (self.of_partitions && !self.requested).then(|| {
            format!(
                "{}: holds no original ids of nodes, so rows and ids (partition_node in tables) are in the order of the \
                 partitions; for those of your data pass ‹orig_ids=FILE› with the first mapping that \
                 dgl.distributed.partition_graph(..., return_mapping=True) returns",
                json.display()
            )
        })
    }

    /// The heading of a column of ids, which are those of the partitions or the user's own.
    pub(super) fn heading(self, own: &'static str, of_partitions: &'static str) -> &'static str {
        if self.of_partitions { of_partitions } else { own }
    }
}

//! The graph of a prediction.

use std::path::Path;

use super::checks::check_propagation;
use super::numbering::Numbering;
use crate::event::Event;
use crate::formats::dgl::config::PartitionConfig;
use crate::load::check_original_order;
use crate::prepare::import::read_original_ids;
use crate::run::launch::connection::reports;
use crate::run::rank::{NodeOrder, PredictConfig};
use crate::words::error::Result;

/// A graph whose nodes are predicted.
pub(super) struct PredictedGraph {
    pub(super) partitions: PartitionConfig,
    /// Ids of the predicted node types, ascending.
    pub(super) ntypes: Vec<usize>,
    pub(super) numbering: Numbering,
}

impl PredictedGraph {
    /// Opens the graph, and decides which types are predicted and how nodes are numbered.
    pub(super) fn open(config: &PredictConfig, observe: &mut dyn FnMut(&Event)) -> Result<Self> {
        let partitions = config.run.open_graph()?;
        for note in partitions.notes() {
            observe(&Event::Note(note.clone()));
        }
        let partitions = original_ids_of(config, partitions)?;
        let ntypes = config.node_types(&partitions)?;
        check_propagation(config, partitions.book(), &ntypes)?;
        let numbering = Numbering::new(config, &partitions, &ntypes)?;
        if let Some(note) = numbering.note(partitions.path()).filter(|_| reports()) {
            observe(&Event::Note(note));
        }
        let has_all = partitions.present().len() == partitions.parts().len();
        if numbering.order == NodeOrder::Original && has_all {
            check_original_order(&partitions, &ntypes)?;
        }
        Ok(PredictedGraph { partitions, ntypes, numbering })
    }
}

/// The partitions, with the original ids that the configuration names.
pub(super) fn original_ids_of(
    config: &PredictConfig,
    partitions: PartitionConfig,
) -> Result<PartitionConfig> {
    // The folder for spilled data is made later.
    let existing = config.run.spill_dir.ancestors().find(|folder| folder.exists());
    let existing = existing.unwrap_or(Path::new("."));
    let given = read_original_ids(&config.orig_ids, partitions.book(), existing)?;
    partitions.with_original_ids(given)
}

//! A prediction request, resolved against the graph's files.

use std::path::Path;

use super::config::PredictConfig;
use super::form::{NodeOrder, Prediction, PredictionFormat};
use super::linked::LinkQuestion;
use super::own_nodes::ChosenNodes;
use crate::error::{Error, Result};
use crate::load::EdgeUse;
use crate::run::rank::setup::RankSetup;

/// A prediction request, resolved against the graph's files.
pub struct PredictionWork<'a> {
    /// The configuration.
    pub config: &'a PredictConfig,
    /// Ids of the node types that are predicted, ascending.
    pub ntypes: Vec<usize>,
    /// The order of nodes.
    pub order: NodeOrder,
    /// The format of the output.
    pub format: PredictionFormat,
    /// The output, if ranks write their rows to it. Else they leave them in the folder of the run's spilled data.
    pub output: Option<&'a Path>,
    /// The nodes, if they are not all.
    pub chosen: Option<ChosenNodes>,
    /// The question about pairs of nodes, if there is one.
    pub links: Option<LinkQuestion>,
}

impl PredictionWork<'_> {
    /// Whether messages pass along each edge of the partition; `None` means along all. Edges that are ranked were kept back from
    /// messages in training.
    pub(super) fn edges_within(&self, setup: &RankSetup) -> Result<Option<Vec<bool>>> {
        let (Some(LinkQuestion::Ranks { .. }), Some(link)) = (&self.links, &self.config.run.link)
        else {
            return Ok(None);
        };
        let uses = link.uses(&setup.partition, self.config.run.seed)?;
        Ok(Some(uses.into_iter().map(EdgeUse::carries_messages).collect()))
    }

    /// The hidden layer whose output is written; `None` for the model's output.
    pub(super) fn hidden_layer(&self, layers: usize) -> Result<Option<usize>> {
        // Pairs of nodes are scored by the model's output.
        if self.config.prediction != Prediction::Embeddings
            || (self.config.run.link.is_some() && self.config.layer.is_none())
        {
            return Ok(None);
        }
        let layer = self.config.layer.unwrap_or(layers);
        if (1..=layers).contains(&layer) {
            return Ok(Some(layer));
        }
        let name = self.config.run.model.kind.spec().name;
        let problem = match layers {
            0 => format!("the model ({name}) has no hidden layers"),
            _ => {
                format!("is {layer}, but the hidden layers of the model ({name}) are 1 to {layers}")
            }
        };
        Err(Error::config("layer", problem)
            .with_hint("pass ‹prediction=logits› for the last layer's output"))
    }
}

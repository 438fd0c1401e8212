//! A prediction request, resolved against the graph's files.

use std::path::Path;

use super::chosen_nodes::ChosenNodes;
use super::config::PredictConfig;
use super::form::{NodeOrder, PredictionFormat};
use crate::event::Event;
use crate::load::EdgeUse;
use crate::run::rank::setup::{RankSetup, Surroundings};
use crate::words::error::{Error, Result};

/// A question about pairs of nodes.
pub enum LinkQuestion {
    /// The scores of pairs, which are rows of the prediction.
    Pairs(Vec<[u64; 2]>),
    /// The best partners of nodes that are not their neighbours yet.
    Partners {
        /// Number of partners of each node.
        count: usize,
        /// The nodes; `None` means all.
        nodes: Option<ChosenNodes>,
    },
    /// The filtered ranks of edges.
    Ranks {
        /// The use of the edges in training.
        wanted: EdgeUse,
        /// The name of their set.
        name: &'static str,
    },
}

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
    pub links: Option<&'a LinkQuestion>,
    /// Number of classes that have names; 0 if the output has no names of classes.
    pub named: usize,
}

impl PredictionWork<'_> {
    /// Reports names of more or fewer classes than the model has outputs.
    pub(super) fn tell_names(&self, here: Surroundings<'_>, outputs: i64) -> Result<()> {
        let named = self.named as i64;
        if here.rank > 0 || named == 0 || named == outputs {
            return Ok(());
        }
        let note = format!("the graph names {named} classes, but the model has {outputs}");
        here.events.send(Event::Note(note))
    }

    /// Whether messages pass along each edge of the partition; `None` means along all. Edges that are ranked were kept back from
    /// messages in training. One collective if edges are ranked.
    ///
    /// # Errors
    /// If the ranked set has no edges.
    pub(super) fn edges_within(&self, setup: &RankSetup) -> Result<Option<Vec<bool>>> {
        let (Some(LinkQuestion::Ranks { wanted, name }), Some(link)) =
            (self.links, &self.config.run.link)
        else {
            return Ok(None);
        };
        // The list is computed again after the pause, so that it does not stay in memory through it.
        let uses = || link.uses(&setup.partition, self.config.run.seed);
        let ranked = uses()?.into_iter().filter(|edge| edge == wanted).count();
        if setup.sums(&[ranked as i64])?[0] == 0 {
            let problem = format!("no edges are kept back for {name}");
            return Err(Error::config("split", problem)
                .with_hint("name another ‹split›, or train with ‹link.split› or masks of edges"));
        }
        Ok(Some(uses()?.into_iter().map(EdgeUse::carries_messages).collect()))
    }
}

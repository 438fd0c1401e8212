//! A question about pairs of nodes: from the user's file to the file of answers.

use std::path::Path;

use super::link_answers::{PairTable, PartnerTable};
use super::name_index::NameIndex;
use super::node_space::{NodePairs, NodeSpace};
use crate::error::{Error, Result};
use crate::io::RowFile;
use crate::run::rank::{
    ChosenNodes, LinkQuery, LinkQuestion, NodeSelection, PredictConfig, Prediction,
    PredictionFormat,
};

/// A question with what its answer is written with.
pub(super) struct Question {
    /// The nodes whose rows are needed, ascending; `None` means all.
    pub(super) needed: Option<Vec<u64>>,
    asked: Asked,
}

enum Asked {
    /// Pairs by places.
    Pairs(NodePairs),
    /// So many partners of nodes at these places; `None` means all nodes.
    Partners { count: usize, places: Option<Vec<u64>> },
}

impl Question {
    /// The question of a configuration, if it asks one.
    ///
    /// # Errors
    /// If the run cannot answer it, or a file does not list nodes of the graph.
    pub(super) fn new(config: &PredictConfig, space: &NodeSpace<'_>) -> Result<Option<Self>> {
        let Some(query) = &config.links else { return Ok(None) };
        let (needed, asked) = match query {
            LinkQuery::Pairs(path) => {
                let pairs = space.pairs(path)?;
                let mut needed: Vec<u64> = pairs.places.iter().flatten().copied().collect();
                needed.sort_unstable();
                needed.dedup();
                (Some(needed), Asked::Pairs(pairs))
            }
            LinkQuery::Partners { count, of } => {
                let places = of.as_ref().map(|path| space.listed(path)).transpose()?;
                let places = places.map(|list| list.places);
                (None, Asked::Partners { count: *count, places })
            }
        };
        Ok(Some(Question { needed, asked }))
    }

    /// Checks that a question can be asked, before files are read.
    ///
    /// # Errors
    /// If the run does not predict edges, or another option contradicts the question.
    pub(super) fn check(config: &PredictConfig) -> Result<()> {
        let Some(query) = &config.links else { return Ok(()) };
        let field = match query {
            LinkQuery::Pairs(_) => "pairs",
            LinkQuery::Partners { .. } => "top_k",
        };
        if config.run.link.is_none() {
            return Err(Error::config(field, "the run does not predict edges")
                .with_hint("name a run that was trained with ‹task=link›"));
        }
        if config.nodes != NodeSelection::All || config.prediction != Prediction::Logits {
            return Err(Error::config(field, "the answer has a form of its own")
                .with_hint("leave out ‹nodes›, ‹split› and ‹prediction›"));
        }
        match query {
            LinkQuery::Partners { count: 0, .. } => Err(Error::config(field, "must be 1 or more")),
            LinkQuery::Partners { count, .. } if *count > MOST_PARTNERS => {
                Err(Error::config(field, format!("must be {MOST_PARTNERS} or less, not {count}")))
            }
            _ => Ok(()),
        }
    }

    /// The question as ranks get it.
    pub(super) fn for_ranks(&self) -> LinkQuestion {
        match (&self.asked, &self.needed) {
            (Asked::Pairs(pairs), Some(needed)) => {
                let row = |place: &u64| needed.partition_point(|other| other < place) as u64;
                let rows = pairs.places.iter().map(|[a, b]| [row(a), row(b)]);
                LinkQuestion::Pairs(rows.collect())
            }
            (Asked::Pairs(pairs), None) => LinkQuestion::Pairs(pairs.places.clone()),
            (Asked::Partners { count, places }, _) => LinkQuestion::Partners {
                count: *count,
                nodes: places.as_deref().map(ChosenNodes::new),
            },
        }
    }

    /// Writes the answer that the ranks have left in `rows`; if they have written the output themselves, gives it its final name.
    /// Temporary files go to `folder`.
    pub(super) fn write(
        self,
        rows: &Path,
        config: &PredictConfig,
        format: PredictionFormat,
        space: &NodeSpace<'_>,
        folder: &Path,
    ) -> Result<()> {
        match self.asked {
            Asked::Pairs(pairs) if format.is_table() => {
                let table = PairTable { rows, pairs: &pairs, named: space.has_names() };
                table.write(&config.output, format)
            }
            Asked::Pairs(_) => RowFile::keep(&config.output),
            Asked::Partners { count, places } => {
                let names = if format.is_table() { NameIndex::new(space, folder)? } else { None };
                let num_rows = places.as_ref().map_or_else(|| space.len(), |p| p.len() as u64);
                let table = PartnerTable { rows, num_rows, count, places, names };
                table.write(&config.output, format)
            }
        }
    }
}

/// Largest number of partners of a node.
const MOST_PARTNERS: usize = 10_000;

//! A question about pairs of nodes: from the user's file to the file of answers.

use std::path::Path;

use super::array::write_array;
use super::link_answers::{PairTable, PartnerTable};
use super::name_index::NameIndex;
use super::node_space::NodeSpace;
use super::ranked_table::RankedTable;
use super::words::Words;
use crate::io::{Destination, RowFile};
use crate::load::{EdgeUse, TargetEdges};
use crate::run::rank::{
    ChosenNodes, LinkQuery, LinkQuestion, NodeSelection, PredictConfig, Prediction,
    PredictionFormat, SplitName, pair_form,
};
use crate::words::error::{Error, Result};

/// A question, with the means to write its answer.
pub(super) struct Question<'a> {
    /// The nodes whose rows are needed, ascending; `None` means all.
    pub(super) needed: Option<Vec<u64>>,
    /// The question as ranks get it.
    pub(super) asked: LinkQuestion,
    /// The words of a file of pairs.
    words: Words,
    /// The places of nodes that get partners, among those at the first end; `None` means all.
    places: Option<Vec<u64>>,
    /// The nodes at the two ends of pairs: those of the predicted edge type, or all.
    ends: [NodeSpace<'a>; 2],
}

impl<'a> Question<'a> {
    /// The question of a configuration, if it asks one.
    pub(super) fn new(config: &PredictConfig, space: &NodeSpace<'a>) -> Result<Option<Self>> {
        let Some(query) = &config.links else { return Ok(None) };
        let ntypes = end_types(config, query, space)?;
        let ends = match ntypes {
            Some(ntypes) => ntypes.map(|ntype| space.of_type(ntype)),
            None => [space.clone(), space.clone()],
        };
        let (mut needed, mut words, mut places) = (None, Words::default(), None);
        let asked = match query {
            LinkQuery::Pairs(path) => {
                let pairs = match ntypes {
                    Some(ntypes) => space.typed_pairs(path, ntypes)?,
                    None => space.pairs(path)?,
                };
                let mut nodes: Vec<u64> = pairs.places.iter().flatten().copied().collect();
                nodes.sort_unstable();
                nodes.dedup();
                let row = |place: &u64| nodes.partition_point(|other| other < place) as u64;
                let rows = pairs.places.iter().map(|[a, b]| [row(a), row(b)]).collect();
                (needed, words) = (Some(nodes), pairs.words);
                LinkQuestion::Pairs(rows)
            }
            LinkQuery::Partners { count, of } => {
                places = match of {
                    Some(of) => Some(ends[0].listed_or_named(of)?),
                    None if config.new_nodes.iter().any(|count| *count > 0) => {
                        Some(ends[0].new_nodes(&config.new_nodes)?)
                    }
                    None => None,
                };
                let nodes = places.as_deref().map(ChosenNodes::new);
                LinkQuestion::Partners { count: *count, nodes }
            }
            LinkQuery::Ranks(split) => {
                let (wanted, name) = match split {
                    SplitName::Train => (EdgeUse::Train, "train"),
                    SplitName::Val => (EdgeUse::Val, "val"),
                    // Other splits are refused.
                    SplitName::Test | SplitName::All => (EdgeUse::Test, "test"),
                };
                LinkQuestion::Ranks { wanted, name }
            }
        };
        Ok(Some(Question { needed, asked, words, places, ends }))
    }

    /// Checks that a question can be asked, before files are read.
    pub(super) fn check(config: &PredictConfig, format: PredictionFormat) -> Result<()> {
        let Some(query) = &config.links else { return Ok(()) };
        let field = field(query);
        if config.run.link.is_none() {
            return Err(Error::config(field, "the run does not predict edges")
                .with_hint("name a run that was trained with ‹task=link›"));
        }
        if config.nodes != NodeSelection::All || config.prediction != Prediction::Logits {
            return Err(Error::config(field, "answers have their own form")
                .with_hint("leave out ‹nodes›, ‹split› and ‹prediction›"));
        }
        match query {
            LinkQuery::Partners { count: 0, .. } => Err(Error::config(field, "must be 1 or more")),
            LinkQuery::Partners { count, .. } if *count > MOST_PARTNERS => {
                Err(Error::config(field, format!("must be {MOST_PARTNERS} or less, not {count}")))
            }
            LinkQuery::Ranks(SplitName::All) => {
                Err(Error::config("split", "only the edges of one split are ranked")
                    .with_hint("pass ‹split=val›, ‹split=test› or ‹split=train›"))
            }
            LinkQuery::Ranks(_) if !format.is_table() => {
                Err(Error::config("output", "ranks of edges are written as a table")
                    .with_hint("name a .csv or a .parquet file"))
            }
            _ => Ok(()),
        }
    }

    /// Writes the answer that the ranks have left in `rows`; if they have written the output themselves, gives it its final name.
    /// Temporary files go to `folder`.
    pub(super) fn write(
        &self,
        rows: &Path,
        place: &Destination,
        format: PredictionFormat,
        folder: &Path,
    ) -> Result<()> {
        let named = [0, 1].map(|end: usize| self.ends[end].has_names());
        let headings = |own: [&'static str; 2], of_partitions: [&'static str; 2]| {
            [0, 1].map(|end: usize| {
                if named[end] {
                    return own[end];
                }
                self.ends[end].numbering.heading(own[end], of_partitions[end])
            })
        };
        let of_ends =
            || headings(["source", "destination"], ["partition_source", "partition_destination"]);
        match &self.asked {
            LinkQuestion::Pairs(pairs) if format.is_table() => {
                let (count, words, headings) = (pairs.len(), &self.words, of_ends());
                PairTable { rows, count, words, named, headings }.write(place, format)
            }
            LinkQuestion::Pairs(pairs) => {
                if let Some(path) = place.regular() {
                    return RowFile::keep(path);
                }
                let header = pair_form().header(format, pairs.len() as u64)?;
                write_array(&header, rows, place)
            }
            LinkQuestion::Partners { count, .. } => {
                let [asked, found] = &self.ends;
                let names = |space| {
                    if format.is_table() { NameIndex::new(space, folder) } else { Ok(None) }
                };
                let names = [names(asked)?, names(found)?];
                let (count, places) = (*count, self.places.as_deref());
                let num_rows = places.map_or_else(|| asked.len(), |p| p.len() as u64);
                let headings =
                    headings(["node", "partner"], ["partition_node", "partition_partner"]);
                let ends = &self.ends;
                PartnerTable { rows, num_rows, count, places, ends, names, headings }
                    .write(place, format)
            }
            LinkQuestion::Ranks { .. } => {
                let headings = of_ends();
                RankedTable { rows, space: &self.ends[0], headings, folder }.write(place, format)
            }
        }
    }
}

/// The field of a question.
fn field(query: &LinkQuery) -> &'static str {
    match query {
        LinkQuery::Pairs(_) => "pairs",
        LinkQuery::Partners { .. } => "top_k",
        LinkQuery::Ranks(_) => "split",
    }
}

/// The node types of a source and a destination, if the question is about one edge type.
fn end_types(
    config: &PredictConfig,
    query: &LinkQuery,
    space: &NodeSpace<'_>,
) -> Result<Option<[usize; 2]>> {
    let Some(link) = config.run.link.as_ref().filter(|_| !matches!(query, LinkQuery::Ranks(_)))
    else {
        return Ok(None);
    };
    let book = space.book();
    let searches = matches!(query, LinkQuery::Partners { .. }) && config.run.relations.is_some();
    if link.tells_etypes_apart(book) {
        let problem = "the run predicts all edge types, each with a score of its own";
        return Err(
            Error::config(field(query), problem).with_hint("train with ‹link.target_etype=TYPE›")
        );
    }
    let target = if searches { link.searched(book)? } else { link.target(book)? };
    let Some(TargetEdges { etype, .. }) = target else {
        if searches {
            let problem = "the run predicts all edge types, each with its own layer";
            return Err(Error::config("top_k", problem).with_hint(
                "train with ‹link.target_etype=TYPE›, or score pairs with ‹pairs=FILE›",
            ));
        }
        return Ok(None);
    };
    Ok(Some(book.etype_ends()[etype]))
}

/// Largest number of partners of a node.
const MOST_PARTNERS: usize = 10_000;

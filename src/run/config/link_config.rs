//! Configuration of link prediction.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::engine::tape::ParameterBuilder;
use crate::formats::dgl::Partition;
use crate::formats::dgl::config::PartitionConfig;
use crate::graph::PartitionBook;
use crate::load::{EdgeSplit, EdgeUse, TargetEdges};
use crate::nn::LinkScore;
use crate::prepare::partition::{EdgeRules, SelfLoops};
use crate::words::choice::choices;
use crate::words::error::Result;

choices! {
    /// How the rows of two nodes become a score.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum PairScore {
        /// <h_u, h_v>
        @default Dot = "dot",
        /// <h_u W, h_v>, with a learned matrix
        Bilinear = "bilinear",
        /// sum(h_u * w * h_v), with a learned vector for each edge type
        DistMult = "distmult",
        /// Re(sum(h_u * w * conj(h_v))), with a learned vector for each edge type
        Complex = "complex",
    }
}

/// Configuration of training for link prediction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkConfig {
    /// How the rows of two nodes become a score.
    pub score: PairScore,
    /// Number of negative pairs that are drawn for each edge: its source with random nodes of the destination's type.
    pub negatives: usize,
    /// The edge type whose edges are predicted, `rel` or `src:rel:dst`; `None` means the [usual](TargetEdges::usual) types.
    #[serde(default)]
    pub target_etype: Option<String>,
    /// The edge type with the reverses of the predicted edges; `None` means `rev_<rel>`, if it exists.
    #[serde(default)]
    pub reverse_etype: Option<String>,
    /// Whether self loops only pass messages, because they were added when the graph was cut. A new run takes this from the graph.
    #[serde(default)]
    pub added_loops: bool,
    /// The split of edges into training edges and predicted edges.
    #[serde(default)]
    pub split: EdgeSplit,
}

impl LinkConfig {
    /// The edge type whose edges are predicted; `None` means the [usual](TargetEdges::usual) ones.
    ///
    /// # Errors
    /// If the graph does not have the edge types that are named.
    pub fn target(&self, book: &PartitionBook) -> Result<Option<TargetEdges>> {
        let find = |target: &String| TargetEdges::find(book, target, self.reverse_etype.as_deref());
        self.target_etype.as_ref().map(find).transpose()
    }

    /// Names the predicted edge type if only one of several is [usual](TargetEdges::usual).
    pub(in crate::run) fn choose_target(&mut self, book: &PartitionBook) {
        if let (None, [etype]) = (&self.target_etype, &TargetEdges::usual(book)[..])
            && book.etypes().len() > 1
        {
            self.target_etype = Some(book.etypes()[*etype].to_string());
        }
    }

    /// Notes whether self loops were added when the graph in this folder was cut.
    pub(in crate::run) fn choose_loops(&mut self, folder: &Path) -> Result<()> {
        self.added_loops = EdgeRules::recorded(folder)?.self_loops == SelfLoops::Add;
        Ok(())
    }

    /// The use of each edge of the partition; `seed` draws random splits.
    pub(in crate::run) fn uses(&self, partition: &Partition, seed: u64) -> Result<Vec<EdgeUse>> {
        self.split.uses(partition, self.target(partition.book())?, self.added_loops, seed)
    }

    /// The edge type along which partners are searched: the predicted type, or the graph's only one.
    pub(in crate::run) fn searched(&self, book: &PartitionBook) -> Result<Option<TargetEdges>> {
        let only = (book.etypes().len() == 1).then_some(TargetEdges { etype: 0, reverse: None });
        Ok(self.target(book)?.or(only))
    }

    /// The node types whose rows are compared, ascending.
    pub(in crate::run) fn node_types(&self, book: &PartitionBook) -> Result<Vec<usize>> {
        let etypes = match self.target(book)? {
            Some(target) => vec![target.etype],
            None => TargetEdges::usual(book),
        };
        let ends = etypes.into_iter().flat_map(|etype| book.etype_ends()[etype]);
        Ok(ends.collect::<BTreeSet<usize>>().into_iter().collect())
    }

    /// Whether kept-back edges are drawn, by the ids of their ends in the partitions.
    pub(in crate::run) fn draws_split(&self) -> bool {
        matches!(self.split, EdgeSplit::Fractions { .. })
    }

    /// Chooses the graph's own split, unless one is configured; returns a note if masks are used.
    pub(in crate::run) fn choose_split(
        &mut self,
        partitions: &PartitionConfig,
    ) -> Result<Option<String>> {
        if self.split != EdgeSplit::Usual {
            return Ok(None);
        }
        let partition = Partition::open(partitions, partitions.first_present())?;
        self.split = self.split.of_graph(&partition, self.target(partitions.book())?);
        let EdgeSplit::Masks { train, val, test } = &self.split else { return Ok(None) };
        let masks: Vec<&str> = [Some(train), val.as_ref(), test.as_ref()]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        Ok(Some(format!("edges are split by their masks: {}", masks.join(", "))))
    }

    /// A note for the user on the predicted edge type, if there is only one, or on edge types that are not predicted.
    pub(in crate::run) fn note(&self, book: &PartitionBook) -> Result<Option<String>> {
        let Some(TargetEdges { etype, reverse }) = self.target(book)? else {
            let usual = TargetEdges::usual(book);
            let others = (0..book.etypes().len()).filter(|etype| !usual.contains(etype));
            let others: Vec<String> =
                others.map(|etype| book.etypes()[etype].to_string()).collect();
            let text = format!("edges of type {} only pass messages", others.join(", "));
            return Ok((!others.is_empty()).then_some(text));
        };
        let predicted = format!("edges of type {} are predicted", book.etypes()[etype]);
        Ok(Some(match reverse {
            Some(reverse) => {
                format!("{predicted}; {} holds their reverses", book.etypes()[reverse])
            }
            None => format!("{predicted}; no other edge type holds their reverses"),
        }))
    }

    /// Number of edge types that scores may tell apart.
    pub(in crate::run) fn num_etypes(&self, book: &PartitionBook) -> usize {
        if self.target_etype.is_some() { 1 } else { book.etypes().len() }
    }

    /// Whether the score has a vector for each edge type.
    pub(crate) fn has_vectors(&self) -> bool {
        matches!(self.score, PairScore::DistMult | PairScore::Complex)
    }

    /// Whether scores of pairs differ by their edge type.
    pub(in crate::run) fn tells_etypes_apart(&self, book: &PartitionBook) -> bool {
        self.has_vectors() && self.num_etypes(book) > 1
    }

    /// The score of rows of width `width`; its parameters are added after the model's.
    pub(in crate::run) fn score(
        &self,
        builder: &mut ParameterBuilder,
        width: i64,
        book: &PartitionBook,
    ) -> LinkScore {
        let etypes = self.num_etypes(book) as i64;
        builder.scope("score", |builder| match self.score {
            PairScore::Dot => LinkScore::Dot,
            PairScore::Bilinear => LinkScore::bilinear(builder, width),
            PairScore::DistMult => LinkScore::dist_mult(builder, etypes, width),
            PairScore::Complex => LinkScore::compl_ex(builder, etypes, width),
        })
    }
}

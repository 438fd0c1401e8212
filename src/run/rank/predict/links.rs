//! Answers about pairs of nodes, by the score with which a run has learned to predict edges.

use std::rc::Rc;

use super::edge_ranks::EdgeRanks;
use super::linked::LinkQuestion;
use super::own_nodes::ChosenNodes;
use super::own_prediction::{OwnPart, OwnPrediction};
use super::pairs::score_pairs;
use super::partners::{PairEnd, PartnerSearch};
use super::scored_by::ScoredBy;
use crate::engine::spill::PointerTensor;
use crate::engine::tape::{GraphShardManager, ParameterSet, Relation};
use crate::error::{Error, Result};
use crate::load::{EdgeData, EdgeUse, TargetEdges, construct_full_hetero_graph};
use crate::nn::LinkScore;
use crate::run::rank::hetero_graph::RankHeteroGraph;
use crate::run::rank::setup::RankSetup;

/// The rows of the predicted nodes, from which questions are answered.
pub(super) struct Linked<'a> {
    pub(super) own: &'a OwnPrediction<'a>,
    pub(super) score: Option<&'a LinkScore>,
    pub(super) parameters: &'a Rc<ParameterSet>,
    /// The model's output for each part of the nodes.
    pub(super) outputs: &'a [PointerTensor],
}

impl Linked<'_> {
    /// Answers a question to a model that treats the graph as homogeneous.
    pub(super) fn answer_whole(
        &self,
        question: &LinkQuestion,
        graph: &GraphShardManager,
    ) -> Result<()> {
        let OwnPrediction { setup, .. } = *self.own;
        let (count, nodes) = match question {
            LinkQuestion::Pairs(pairs) => return self.score(pairs),
            LinkQuestion::Ranks { wanted, name } => return self.rank(*wanted, name),
            LinkQuestion::Partners { count, nodes } => (*count, nodes.as_ref()),
        };
        let Some(TargetEdges { etype, .. }) = self.target()? else {
            let end = PairEnd { ntype: None, part: &self.own.parts[0], output: &self.outputs[0] };
            return self.search(count, nodes, [end, end], graph);
        };
        let RankSetup { manager, group, partition } = setup;
        let relations =
            construct_full_hetero_graph(manager, group, partition, EdgeData::default())?;
        let relation = &relations.relations()[etype];
        let part = |ntype| {
            let labelled = OwnPart::of_types(setup, &[ntype], self.own.work.order, None)?;
            let part = labelled.into_iter().next();
            part.ok_or_else(|| Error::internal("a node type has no nodes"))
        };
        let parts = [part(relation.src_type)?, part(relation.dst_type)?];
        let rows = |part: &OwnPart| {
            let (first, own) = (part.labelled.first_row, part.labelled.nodes.own as i64);
            let rows = self.outputs[0].pin()?.f_narrow(0, first, own)?.f_contiguous()?;
            Ok::<_, Error>(setup.manager.track("linked", crate::engine::tensor::copy(&rows)?))
        };
        let outputs = [rows(&parts[0])?, rows(&parts[1])?];
        let ends = ends(relation, [&parts[0], &parts[1]], [&outputs[0], &outputs[1]]);
        self.search(count, nodes, ends, &relation.graph)
    }

    /// Answers a question to a model with a layer per edge type.
    pub(super) fn answer_relations(
        &self,
        question: &LinkQuestion,
        hetero: &RankHeteroGraph,
    ) -> Result<()> {
        let OwnPrediction { setup, work, .. } = *self.own;
        let (count, nodes) = match question {
            LinkQuestion::Pairs(pairs) => return self.score(pairs),
            LinkQuestion::Ranks { wanted, name } => return self.rank(*wanted, name),
            LinkQuestion::Partners { count, nodes } => (*count, nodes.as_ref()),
        };
        let link = self.own.work.config.run.link.as_ref();
        let searched = link.map(|link| link.searched(setup.partition.book()));
        let target = searched.transpose()?.flatten();
        let target = target.ok_or_else(|| Error::internal("no edge type is searched"))?;
        let relation = &hetero.graph.relations()[target.etype];
        let part = |ntype: usize| {
            let parts = OwnPart::of_types(setup, &[ntype], work.order, None)?;
            let part = parts.into_iter().next();
            let at = hetero.targets.iter().position(|target| *target == ntype);
            let part = part.zip(at.map(|at| &self.outputs[at]));
            part.ok_or_else(|| Error::internal("a node type has no rows"))
        };
        let (sources, destinations) = (part(relation.src_type)?, part(relation.dst_type)?);
        let ends = ends(relation, [&sources.0, &destinations.0], [sources.1, destinations.1]);
        self.search(count, nodes, ends, &relation.graph)
    }

    fn target(&self) -> Result<Option<TargetEdges>> {
        let link = self.own.work.config.run.link.as_ref();
        let target = link.map(|link| link.target(self.own.setup.partition.book()));
        Ok(target.transpose()?.flatten())
    }

    fn score(&self, pairs: &[[u64; 2]]) -> Result<()> {
        score_pairs(self.own, pairs, self.scored_by()?, self.outputs)
    }

    fn rank(&self, wanted: EdgeUse, name: &str) -> Result<()> {
        let Linked { own, outputs, .. } = *self;
        let link = own.work.config.run.link.as_ref();
        let link = link.ok_or_else(|| Error::internal("a run that predicts no edges"))?;
        EdgeRanks { own, link, scored_by: self.scored_by()?, outputs }.run(wanted, name)
    }

    fn search(
        &self,
        count: usize,
        nodes: Option<&ChosenNodes>,
        [asked, found]: [PairEnd<'_>; 2],
        graph: &GraphShardManager,
    ) -> Result<()> {
        PartnerSearch { count, nodes, scored_by: self.scored_by()?, asked, found }
            .run(self.own, graph)
    }

    fn scored_by(&self) -> Result<ScoredBy<'_>> {
        let missing = || Error::internal("a run without a score");
        let score = self.score.ok_or_else(missing)?;
        Ok(ScoredBy { score, parameters: self.parameters })
    }
}

/// The ends of a relation's edges.
fn ends<'p>(
    relation: &Relation,
    [sources, destinations]: [&'p OwnPart; 2],
    [source_rows, destination_rows]: [&'p PointerTensor; 2],
) -> [PairEnd<'p>; 2] {
    let (src, dst) = (Some(relation.src_type), Some(relation.dst_type));
    [
        PairEnd { ntype: src, part: sources, output: source_rows },
        PairEnd { ntype: dst, part: destinations, output: destination_rows },
    ]
}

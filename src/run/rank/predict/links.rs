//! Answers about pairs of nodes, by the score with which a run has learned to predict edges.

use super::chosen_nodes::ChosenNodes;
use super::own_prediction::{OwnPart, OwnPrediction};
use super::partners::{PairEnd, PartnerSearch};
use super::scored_by::ScoredBy;
use crate::engine::spill::PointerTensor;
use crate::engine::tape::{GraphShardManager, Relation};
use crate::engine::tensor;
use crate::load::{EdgeData, TargetEdges, construct_full_hetero_graph};
use crate::run::config::LinkConfig;
use crate::run::rank::hetero_graph::RankHeteroGraph;
use crate::run::rank::labelled::Labelled;
use crate::run::rank::setup::RankSetup;
use crate::words::error::{Error, Result};

/// The rows of the predicted nodes, from which questions are answered.
pub(super) struct Linked<'a> {
    pub(super) own: &'a OwnPrediction<'a>,
    pub(super) link: &'a LinkConfig,
    pub(super) scored_by: ScoredBy<'a>,
    /// The model's output for each part of the nodes.
    pub(super) outputs: &'a [PointerTensor],
}

impl Linked<'_> {
    /// Searches partners for a model that treats the graph as homogeneous.
    pub(super) fn search_whole(
        &self,
        count: usize,
        nodes: Option<&ChosenNodes>,
        graph: &GraphShardManager,
    ) -> Result<()> {
        let RankSetup { manager, group, partition } = self.own.setup;
        let Some(TargetEdges { etype, .. }) = self.link.target(partition.book())? else {
            let end = PairEnd { ntype: None, part: &self.own.parts[0], output: &self.outputs[0] };
            return self.search(count, nodes, [end, end], graph);
        };
        let relations =
            construct_full_hetero_graph(manager, group, partition, EdgeData::default())?;
        let relation = &relations.relations()[etype];
        let rows = |ntype| {
            let Labelled { first_row, nodes, .. } = Labelled::of_type(self.own.setup, ntype);
            let rows = self.outputs[0].pin()?.f_narrow(0, first_row, nodes.own as i64)?;
            Ok::<_, Error>(manager.track("linked", tensor::copy(&rows.f_contiguous()?)?))
        };
        let outputs = [rows(relation.src_type)?, rows(relation.dst_type)?];
        self.search_along(count, nodes, relation, outputs.each_ref())
    }

    /// Searches partners for a model with a layer per edge type.
    pub(super) fn search_relation(
        &self,
        count: usize,
        nodes: Option<&ChosenNodes>,
        hetero: &RankHeteroGraph,
    ) -> Result<()> {
        let target = self.link.searched(self.own.setup.partition.book())?;
        let target = target.ok_or_else(|| Error::internal("no edge type is searched"))?;
        let relation = &hetero.graph.relations()[target.etype];
        let output = |ntype: usize| {
            let at = hetero.targets.iter().position(|target| *target == ntype);
            let at = at.ok_or_else(|| Error::internal("a node type has no rows"))?;
            Ok::<_, Error>(&self.outputs[at])
        };
        let outputs = [output(relation.src_type)?, output(relation.dst_type)?];
        self.search_along(count, nodes, relation, outputs)
    }

    /// Searches partners at the other ends of a relation's edges; `outputs` are those of its sources and destinations.
    fn search_along(
        &self,
        count: usize,
        nodes: Option<&ChosenNodes>,
        relation: &Relation,
        outputs: [&PointerTensor; 2],
    ) -> Result<()> {
        let OwnPrediction { setup, work, .. } = *self.own;
        let types = [relation.src_type, relation.dst_type];
        let part = |ntype| OwnPart::of_type(setup, ntype, work.order, None, 0);
        let parts = [part(types[0])?, part(types[1])?];
        let end = |i: usize| PairEnd { ntype: Some(types[i]), part: &parts[i], output: outputs[i] };
        self.search(count, nodes, [end(0), end(1)], &relation.graph)
    }

    fn search(
        &self,
        count: usize,
        nodes: Option<&ChosenNodes>,
        [asked, found]: [PairEnd<'_>; 2],
        graph: &GraphShardManager,
    ) -> Result<()> {
        PartnerSearch { count, nodes, scored_by: self.scored_by, asked, found }.run(self.own, graph)
    }
}

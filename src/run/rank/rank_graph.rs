//! A rank's part of a graph, for models with one layer for all edge types or with a layer per edge type.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use super::assignment::Assignment;
use super::batch_inputs::BatchInputs;
use super::labelled::Labelled;
use super::learned_row_order::LearnedRowOrder;
use super::setup::{KIND, RankSetup};
use crate::engine::tape::{ParameterBuilder, ParameterSet};
use crate::nn::LinkScore;
use crate::run::config::{Checksums, RunConfig};
use crate::words::error::Result;

/// A rank's part of a graph.
pub(super) trait RankGraph {
    /// Models on this graph.
    type Model;

    /// The labelled nodes of each target.
    fn labelled(&self, setup: &RankSetup) -> Result<Vec<Labelled>>;

    /// Number of outputs for each target in a weights file.
    fn stored_out_feats(&self, run: &RunConfig, path: &Path) -> Result<Vec<i64>>;

    /// Creates the model, with these output widths for the targets.
    fn model(
        &self,
        run: &RunConfig,
        parameters: &mut ParameterBuilder,
        out_feats: &[i64],
    ) -> Result<Self::Model>;

    /// Order of the learned rows, if there are any.
    fn row_order(&self) -> Option<&LearnedRowOrder> {
        None
    }

    /// Texts about the graph that are stored with the weights.
    fn texts(&self, setup: &RankSetup) -> Result<BTreeMap<String, String>> {
        let mut texts = BTreeMap::new();
        let files = Checksums::of_graph(setup.partition.topology().config());
        files.add_to(&mut texts, Checksums::OF_GRAPH)?;
        self.row_order().map_or(Ok(()), |order| order.add_to(&mut texts))?;
        Ok(texts)
    }

    /// Out-degrees of the partition's own nodes, over all edge types.
    fn out_degrees(&self, setup: &RankSetup) -> Result<Vec<u32>>;

    /// Features in batches. One collective if each edge type has its own features.
    fn batch_inputs(&self, setup: &RankSetup, assignment: Assignment<'_>) -> Result<BatchInputs>;
}

/// A model with its parameters.
pub(super) struct BuiltModel<M> {
    pub(super) model: M,
    /// The score of two rows, if the run compares them.
    pub(super) score: Option<LinkScore>,
    /// Parameters of model and score.
    pub(super) parameters: Rc<ParameterSet>,
}

impl<M> BuiltModel<M> {
    /// Creates a run's model on a graph, with these output widths for the targets.
    pub(super) fn new(
        setup: &RankSetup,
        run: &RunConfig,
        graph: &impl RankGraph<Model = M>,
        out_feats: &[i64],
    ) -> Result<Self> {
        let mut builder = run.parameters();
        let model = graph.model(run, &mut builder, out_feats)?;
        let (width, book) = (out_feats.first().copied().unwrap_or(0), setup.partition.book());
        let score = run.link.as_ref().map(|link| link.score(&mut builder, width, book));
        let parameters = Rc::new(builder.finish(&setup.manager, KIND)?);
        Ok(BuiltModel { model, score, parameters })
    }
}

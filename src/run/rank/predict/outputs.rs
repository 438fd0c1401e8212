//! From a model's outputs to the rows of a prediction, or to answers about pairs of nodes.

use super::chosen_nodes::ChosenNodes;
use super::correction::known_labels;
use super::links::Linked;
use super::own_prediction::OwnPrediction;
use super::scored_by::ScoredBy;
use super::scores::{Truth, tell_scores};
use super::work::LinkQuestion;
use crate::engine::tape::{GraphShardManager, Tape, Var};
use crate::run::rank::labelled::Labelled;
use crate::run::rank::rank_graph::BuiltModel;
use crate::words::error::{Error, Result};

/// Outputs of a model on a rank.
pub(super) struct ModelOutputs<'a, M> {
    pub(super) own: &'a OwnPrediction<'a>,
    pub(super) built: &'a BuiltModel<M>,
    /// Number of columns.
    pub(super) width: i64,
    /// The hidden layer whose outputs they are; `None` for the last layer's.
    pub(super) layer: Option<usize>,
    /// Whether there are rows of all nodes, not only of the predicted ones.
    pub(super) has_all_rows: bool,
    /// Nodes with labels by which the outputs are corrected, and the graph on which they are.
    pub(super) corrected_by: Option<(&'a Labelled, &'a GraphShardManager)>,
}

/// A search for a number of partners of nodes.
type Search<'a> = dyn Fn(&Linked<'_>, usize, Option<&ChosenNodes>) -> Result<()> + 'a;

impl<'t, M> ModelOutputs<'t, M> {
    /// Writes the outputs, or answers the question about pairs of nodes. `values` are the outputs of the whole graph, or of
    /// each predicted type.
    pub(super) fn finish(
        self,
        tape: &mut Tape<'t>,
        mut values: Vec<Var>,
        search: &Search<'_>,
    ) -> Result<()> {
        let ModelOutputs { own, built, width, layer, has_all_rows, corrected_by } = self;
        let OwnPrediction { setup, work, .. } = own;
        let truth = Truth::load(own, width, layer)?;
        let how = work.config.correct_and_smooth;
        if let (Some(how), Some((labelled, graph))) = (how, corrected_by) {
            let logits = values.remove(0);
            let uncorrected = own.by_part(vec![logits.value()], true)?;
            tell_scores(own, truth.as_ref(), &uncorrected, false)?;
            drop(uncorrected);
            let known = known_labels(setup, &work.config.run, labelled, width)?;
            values = vec![how.forward(tape, graph, logits, &known)?];
        }
        let values = values.into_iter().map(|value| value.value());
        let outputs = own.by_part(values.collect(), has_all_rows)?;
        tell_scores(own, truth.as_ref(), &outputs, how.is_some())?;
        let Some(question) = work.links else { return own.write(&outputs) };
        let BuiltModel { score, parameters, .. } = built;
        let missing = || Error::internal("a run without a score");
        let link = work.config.run.link.as_ref().ok_or_else(missing)?;
        let scored_by = ScoredBy { score: score.as_ref().ok_or_else(missing)?, parameters };
        let linked = Linked { own, link, scored_by, outputs: &outputs };
        match question {
            LinkQuestion::Pairs(pairs) => linked.score(pairs),
            LinkQuestion::Ranks { wanted, name } => linked.rank(*wanted, name),
            LinkQuestion::Partners { count, nodes } => search(&linked, *count, nodes.as_ref()),
        }
    }
}

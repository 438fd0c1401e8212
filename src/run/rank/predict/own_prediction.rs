//! The predicted nodes of a rank while their rows are made.

use super::needed::EdgeCounts;
use super::own_nodes::{ChosenNodes, OwnNodes};
use super::rows;
use super::scores::{Truth, tell_scores};
use super::work::PredictionWork;
use crate::engine::spill::PointerTensor;
use crate::error::Result;
use crate::event::Event;
use crate::run::rank::labels::Labelled;
use crate::run::rank::setup::{RankSetup, Surroundings};

/// The predicted nodes of a rank while their rows are made.
pub(super) struct OwnPrediction<'a> {
    pub(super) setup: &'a RankSetup,
    pub(super) here: Surroundings<'a>,
    pub(super) work: &'a PredictionWork<'a>,
    pub(super) labelled: &'a Labelled,
    pub(super) own: OwnNodes,
}

impl OwnPrediction<'_> {
    /// The labels of the predicted nodes, where outputs can be compared with them.
    pub(super) fn truth(&self, outputs: i64, layer: Option<usize>) -> Result<Option<Truth>> {
        if layer.is_some() || self.work.config.run.link.is_some() {
            return Ok(None);
        }
        Truth::load(self.setup, self.here, &self.work.config.run, self.labelled, &self.own, outputs)
    }

    /// Reports how good the model's output for the predicted nodes is.
    pub(super) fn tell_scores(
        &self,
        truth: Option<&Truth>,
        output: &PointerTensor,
        corrected: bool,
    ) -> Result<()> {
        let Some(truth) = truth else { return Ok(()) };
        tell_scores(self.setup, self.here, truth, output, corrected)
    }

    /// The rows of `all`, one per node that could be predicted, that belong to the predicted nodes.
    pub(super) fn pick(&self, all: PointerTensor) -> Result<PointerTensor> {
        if self.own.chosen().is_none() {
            return Ok(all);
        }
        let picked = self.own.pick(&*all.pin()?)?;
        Ok(self.setup.manager.track("predicted", picked))
    }

    /// Number of rows of the prediction, over all ranks.
    pub(super) fn num_rows(&self) -> u64 {
        let all = self.labelled.nodes.total;
        self.work.chosen.as_ref().map_or(all, ChosenNodes::num_rows)
    }

    /// Writes the rows, of which `output` has one per predicted node.
    pub(super) fn write(&self, output: &PointerTensor) -> Result<()> {
        let config = self.work.config;
        let task = config.run.task;
        let form = config.prediction.stored(task, output.size()[1] as u64);
        let num_rows = self.num_rows();
        let file = rows::open(self.here, self.work, &form, num_rows)?;
        {
            let values = config.prediction.rows(task, &*output.pin()?)?;
            self.own.write(self.setup, self.labelled, &file, &values)?;
        }
        rows::seal(self.setup, self.work, file, num_rows)
    }

    /// Reports the edges and bytes that were worked on.
    pub(super) fn tell_work(&self, edges: &EdgeCounts) -> Result<()> {
        let text = edges.text(self.setup)?;
        if self.here.rank == 0 && self.work.chosen.is_some() {
            self.here.events.send(Event::Note(text))?;
        }
        Ok(())
    }
}

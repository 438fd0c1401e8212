//! The predicted nodes of a rank while their rows are made.

use tch::Tensor;

use super::form::NodeOrder;
use super::needed::EdgeCounts;
use super::own_nodes::{ChosenNodes, OwnNodes};
use super::rows;
use super::scores::{Truth, tell_scores};
use super::work::PredictionWork;
use crate::engine::spill::PointerTensor;
use crate::engine::tape::Graph;
use crate::error::Result;
use crate::event::Event;
use crate::io::RowFile;
use crate::run::rank::labelled::Labelled;
use crate::run::rank::setup::{RankSetup, Surroundings};

/// The predicted nodes of a rank while their rows are made.
pub(super) struct OwnPrediction<'a> {
    pub(super) setup: &'a RankSetup,
    pub(super) here: Surroundings<'a>,
    pub(super) work: &'a PredictionWork<'a>,
    /// The nodes: all, or those of each predicted type.
    pub(super) parts: Vec<OwnPart>,
}

/// Nodes of a rank that are predicted together.
pub(super) struct OwnPart {
    pub(super) labelled: Labelled,
    pub(super) own: OwnNodes,
}

impl OwnPart {
    /// All nodes.
    pub(super) fn all(
        setup: &RankSetup,
        graph: &dyn Graph,
        order: NodeOrder,
        chosen: Option<&ChosenNodes>,
    ) -> Result<Self> {
        let labelled = Labelled::all(setup, graph)?;
        let own = OwnNodes::new(setup, &labelled, order, chosen, 0)?;
        Ok(OwnPart { labelled, own })
    }

    /// The nodes of these types, which are ascending. In the order of the prediction, types follow one another.
    pub(super) fn of_types(
        setup: &RankSetup,
        ntypes: &[usize],
        order: NodeOrder,
        chosen: Option<&ChosenNodes>,
    ) -> Result<Vec<Self>> {
        let book = setup.partition.book();
        let (mut rows_before, mut left_out, mut parts) = (0, 0, Vec::new());
        for ntype in 0..book.ntypes().len() {
            let count = book.num_nodes_of_type(ntype);
            if !ntypes.contains(&ntype) {
                left_out += count;
                continue;
            }
            let mut labelled = Labelled::of_type(setup, ntype);
            labelled.nodes.first += rows_before;
            rows_before += count;
            let own = OwnNodes::new(setup, &labelled, order, chosen, left_out)?;
            parts.push(OwnPart { labelled, own });
        }
        Ok(parts)
    }

    /// The rows of `all`, one per node that could be predicted, that belong to the predicted nodes.
    pub(super) fn pick(&self, setup: &RankSetup, all: PointerTensor) -> Result<PointerTensor> {
        if self.own.chosen().is_none() {
            return Ok(all);
        }
        let picked = self.own.pick(&*all.pin()?)?;
        Ok(setup.manager.track("predicted", picked))
    }

    /// Writes a row per predicted node to its place in a file.
    pub(super) fn write(&self, setup: &RankSetup, file: &RowFile, values: &Tensor) -> Result<()> {
        self.own.write(setup, &self.labelled, file, values)
    }
}

impl OwnPrediction<'_> {
    /// The labels of the predicted nodes, where outputs can be compared with them.
    pub(super) fn truth(
        &self,
        part: &OwnPart,
        outputs: i64,
        layer: Option<usize>,
    ) -> Result<Option<Truth>> {
        let run = &self.work.config.run;
        if layer.is_some() || run.link.is_some() {
            return Ok(None);
        }
        Truth::load(self.setup, self.here, run, &part.labelled, &part.own, outputs)
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

    /// Number of rows of the prediction, over all ranks.
    pub(super) fn num_rows(&self) -> u64 {
        let all = self.parts.iter().map(|part| part.labelled.nodes.total).sum();
        self.work.chosen.as_ref().map_or(all, ChosenNodes::num_rows)
    }

    /// Writes the rows. Each part's output, all of one width, has one per predicted node.
    pub(super) fn write(&self, outputs: &[PointerTensor]) -> Result<()> {
        let config = self.work.config;
        let task = config.run.task;
        let width = outputs.first().map_or(0, |output| output.size()[1]);
        let form = config.prediction.stored(task, width as u64);
        let num_rows = self.num_rows();
        let file = rows::open(self.here, self.work, &form, num_rows)?;
        for (part, output) in self.parts.iter().zip(outputs) {
            let values = config.prediction.rows(task, &*output.pin()?)?;
            part.write(self.setup, &file, &values)?;
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

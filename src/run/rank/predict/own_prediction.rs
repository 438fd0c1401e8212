//! The predicted nodes of a rank while their rows are made.

use tch::Tensor;

use super::chosen_nodes::ChosenNodes;
use super::form::NodeOrder;
use super::needed::EdgeCounts;
use super::rows;
use super::work::PredictionWork;
use crate::engine::spill::PointerTensor;
use crate::engine::tape::Graph;
use crate::engine::tensor;
use crate::event::Event;
use crate::io::RowFile;
use crate::load::{original_ids, original_places};
use crate::run::rank::labelled::Labelled;
use crate::run::rank::setup::{RankSetup, Surroundings};
use crate::words::error::{Error, Result};

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
    rows: PartRows,
}

/// The rows of the output that belong to a rank's nodes.
enum PartRows {
    /// Consecutive rows, for all nodes that could be predicted.
    All,
    /// Rows in the original order, for all nodes that could be predicted.
    InOriginalOrder {
        /// Number of rows of other types before these.
        before: u64,
    },
    /// Rows of some nodes.
    Some {
        /// Indices of the nodes among those that could be predicted, ascending.
        nodes: Vec<u32>,
        /// For each row of the output: the index in `nodes`, and the row.
        rows: Vec<(i64, u64)>,
    },
}

impl PartRows {
    /// The rows of the chosen ones of a rank's nodes, which have these places.
    fn of(chosen: &ChosenNodes, places: impl IntoIterator<Item = u64>) -> Self {
        let (mut nodes, mut rows) = (Vec::new(), Vec::new());
        for (node, place) in (0_u32..).zip(places) {
            let before = rows.len();
            rows.extend(chosen.rows_of(place).map(|row| (nodes.len() as i64, row)));
            if rows.len() > before {
                nodes.push(node);
            }
        }
        PartRows::Some { nodes, rows }
    }
}

impl OwnPart {
    /// The chosen ones of the labelled nodes, or all. `before` is the number of predicted nodes of other types before these.
    fn new(
        setup: &RankSetup,
        labelled: Labelled,
        order: NodeOrder,
        chosen: Option<&ChosenNodes>,
        before: u64,
    ) -> Result<Self> {
        let rows = match (order, chosen) {
            (NodeOrder::Partition, None) => PartRows::All,
            (NodeOrder::Original, None) => PartRows::InOriginalOrder { before },
            (NodeOrder::Partition, Some(chosen)) => {
                PartRows::of(chosen, (labelled.nodes.first..).take(labelled.nodes.own))
            }
            (NodeOrder::Original, Some(chosen)) => {
                PartRows::of(chosen, in_original_order(setup, &labelled, before)?)
            }
        };
        Ok(OwnPart { labelled, rows })
    }

    /// All nodes.
    pub(super) fn all(
        setup: &RankSetup,
        graph: &dyn Graph,
        order: NodeOrder,
        chosen: Option<&ChosenNodes>,
    ) -> Result<Self> {
        OwnPart::new(setup, Labelled::all(setup, graph)?, order, chosen, 0)
    }

    /// The nodes of these types, which are ascending. In the order of the prediction, types follow one another.
    pub(super) fn of_types(
        setup: &RankSetup,
        ntypes: &[usize],
        order: NodeOrder,
        chosen: Option<&ChosenNodes>,
    ) -> Result<Vec<Self>> {
        let (mut before, mut parts) = (0, Vec::new());
        for ntype in ntypes {
            parts.push(OwnPart::of_type(setup, *ntype, order, chosen, before)?);
            before += setup.partition.book().num_nodes_of_type(*ntype);
        }
        Ok(parts)
    }

    /// The nodes of a type, which follow some of other types.
    pub(super) fn of_type(
        setup: &RankSetup,
        ntype: usize,
        order: NodeOrder,
        chosen: Option<&ChosenNodes>,
        before: u64,
    ) -> Result<Self> {
        let mut labelled = Labelled::of_type(setup, ntype);
        labelled.nodes.first += before;
        OwnPart::new(setup, labelled, order, chosen, before)
    }

    /// Indices of the chosen nodes among those that could be predicted, ascending; `None` means all.
    pub(super) fn chosen(&self) -> Option<&[u32]> {
        match &self.rows {
            PartRows::Some { nodes, .. } => Some(nodes),
            _ => None,
        }
    }

    /// The rows of `all`, one per node that could be predicted, that belong to the predicted nodes.
    pub(super) fn pick(&self, all: &Tensor) -> Result<Tensor> {
        let Some(nodes) = self.chosen() else { return Ok(all.shallow_clone()) };
        let nodes: Vec<i64> = nodes.iter().map(|node| i64::from(*node)).collect();
        Ok(all.f_index_select(0, &Tensor::f_from_slice(&nodes)?)?)
    }

    /// Like [`pick`](Self::pick), for rows that are tracked.
    fn pick_tracked(&self, setup: &RankSetup, all: PointerTensor) -> Result<PointerTensor> {
        if self.chosen().is_none() {
            return Ok(all);
        }
        let picked = self.pick(&*all.pin()?)?;
        Ok(setup.manager.track("predicted", picked))
    }

    /// Writes a row per predicted node to its place in a file.
    pub(super) fn write(&self, setup: &RankSetup, file: &RowFile, values: &Tensor) -> Result<()> {
        let labelled = &self.labelled;
        match &self.rows {
            PartRows::All => file.write_rows(labelled.nodes.first, &tensor::bytes(values)),
            PartRows::InOriginalOrder { before } => {
                let rows = in_original_order(setup, labelled, *before)?;
                file.write_rows_at(&rows, &tensor::bytes(values))
            }
            PartRows::Some { rows, .. } => {
                let (copies, rows): (Vec<i64>, Vec<u64>) = rows.iter().copied().unzip();
                let values = values.f_index_select(0, &Tensor::f_from_slice(&copies)?)?;
                file.write_rows_at(&rows, &tensor::bytes(&values))
            }
        }
    }
}

/// The place of each node that could be predicted among all of them before the graph was cut.
fn in_original_order(setup: &RankSetup, labelled: &Labelled, before: u64) -> Result<Vec<u64>> {
    let Some(ntype) = labelled.ntype else { return original_places(&setup.partition) };
    let ids = original_ids(&setup.partition, ntype)?;
    Ok(ids.into_iter().map(|id| before + id).collect())
}

impl OwnPrediction<'_> {
    /// The chosen nodes of all parts among the rank's inner nodes, ascending; `None` means all.
    pub(super) fn chosen_rows(&self) -> Option<Vec<u32>> {
        let rows = self.parts.iter().map(|part| {
            let first = part.labelled.first_row as u32;
            Some(part.chosen()?.iter().map(move |node| first + node))
        });
        Some(rows.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// A row per predicted node of each part, from rows of all inner nodes, or of the chosen ones: for all types together, or
    /// for each part.
    pub(super) fn by_part(
        &self,
        values: Vec<PointerTensor>,
        has_all_rows: bool,
    ) -> Result<Vec<PointerTensor>> {
        let mut pairs = self.parts.iter().zip(&values);
        let is_whole = |(part, values): (&OwnPart, &PointerTensor)| {
            !has_all_rows || part.labelled.nodes.own as i64 == values.size()[0]
        };
        if values.len() == self.parts.len() && pairs.all(is_whole) {
            let pick = |(part, values): (&OwnPart, PointerTensor)| {
                if has_all_rows { part.pick_tracked(self.setup, values) } else { Ok(values) }
            };
            return self.parts.iter().zip(values).map(pick).collect();
        }
        let [values] = &values[..] else {
            return Err(Error::internal("outputs are not those of the predicted types"));
        };
        let mut first = 0;
        let of_part = |part: &OwnPart| {
            let labelled = &part.labelled;
            let count = match part.chosen().filter(|_| !has_all_rows) {
                Some(chosen) => chosen.len() as i64,
                None => labelled.nodes.own as i64,
            };
            let begin = if has_all_rows { labelled.first_row } else { first };
            first += count;
            let rows = tensor::copy(&values.pin()?.f_narrow(0, begin, count)?)?;
            let rows = self.setup.manager.track("of-part", rows);
            if has_all_rows { part.pick_tracked(self.setup, rows) } else { Ok(rows) }
        };
        self.parts.iter().map(of_part).collect()
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
        let form = config.stored(width as u64);
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

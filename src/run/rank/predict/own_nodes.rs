//! A rank's predicted nodes.

use tch::Tensor;

use super::form::NodeOrder;
use crate::engine::tensor;
use crate::error::Result;
use crate::io::RowFile;
use crate::load::{original_ids, original_places};
use crate::run::rank::labelled::Labelled;
use crate::run::rank::setup::RankSetup;

/// The nodes that are predicted, where they are not all, by their places in the order of the prediction.
#[derive(Debug, Clone)]
pub struct ChosenNodes {
    /// Place and row of the output, ascending. A place may have several rows.
    rows: Vec<(u64, u64)>,
}

impl ChosenNodes {
    /// The nodes at these places: one row of the output each, in this order.
    pub fn new(places: &[u64]) -> Self {
        let mut rows: Vec<(u64, u64)> = places.iter().copied().zip(0..).collect();
        rows.sort_unstable();
        ChosenNodes { rows }
    }

    /// Number of rows.
    pub fn num_rows(&self) -> u64 {
        self.rows.len() as u64
    }

    /// The rows of the node at a place.
    pub(super) fn rows_of(&self, place: u64) -> impl Iterator<Item = u64> + '_ {
        let first = self.rows.partition_point(|row| row.0 < place);
        let here = self.rows[first..].iter().take_while(move |row| row.0 == place);
        here.map(|(_, row)| *row)
    }
}

/// The predicted nodes of a rank, and the rows of the output that are theirs.
pub(super) enum OwnNodes {
    /// All nodes that could be predicted, at consecutive rows.
    All,
    /// All nodes that could be predicted, at rows in the original order.
    InOriginalOrder {
        /// Number of rows of other types before these.
        before: u64,
    },
    /// Some nodes.
    Some {
        /// Indices of the nodes among those that could be predicted, ascending.
        nodes: Vec<u32>,
        /// For each row of the output: the index in `nodes`, and the row.
        rows: Vec<(i64, u64)>,
    },
}

impl OwnNodes {
    /// The rank's part of the chosen nodes, or of all. `before` is the number of predicted nodes of other types before these.
    pub(super) fn new(
        setup: &RankSetup,
        labelled: &Labelled,
        order: NodeOrder,
        chosen: Option<&ChosenNodes>,
        before: u64,
    ) -> Result<Self> {
        let places: Vec<u64> = match (order, chosen) {
            (NodeOrder::Partition, None) => return Ok(OwnNodes::All),
            (NodeOrder::Original, None) => return Ok(OwnNodes::InOriginalOrder { before }),
            (NodeOrder::Partition, Some(_)) => {
                (labelled.nodes.first..).take(labelled.nodes.own).collect()
            }
            (NodeOrder::Original, Some(_)) => in_original_order(setup, labelled, before)?,
        };
        let (mut nodes, mut rows) = (Vec::new(), Vec::new());
        for (node, place) in (0_u32..).zip(places) {
            let before = rows.len();
            let here = chosen.into_iter().flat_map(|chosen| chosen.rows_of(place));
            rows.extend(here.map(|row| (nodes.len() as i64, row)));
            if rows.len() > before {
                nodes.push(node);
            }
        }
        Ok(OwnNodes::Some { nodes, rows })
    }

    /// The chosen nodes; `None` means all.
    pub(super) fn chosen(&self) -> Option<&[u32]> {
        match self {
            OwnNodes::Some { nodes, .. } => Some(nodes),
            _ => None,
        }
    }

    /// The rows of `all`, one per node that could be predicted, that belong to the predicted nodes.
    pub(super) fn pick(&self, all: &Tensor) -> Result<Tensor> {
        let Some(nodes) = self.chosen() else { return Ok(all.shallow_clone()) };
        let nodes: Vec<i64> = nodes.iter().map(|node| i64::from(*node)).collect();
        Ok(all.f_index_select(0, &Tensor::f_from_slice(&nodes)?)?)
    }

    /// Writes a row per predicted node to the places of the output that are theirs.
    pub(super) fn write(
        &self,
        setup: &RankSetup,
        labelled: &Labelled,
        file: &RowFile,
        values: &Tensor,
    ) -> Result<()> {
        match self {
            OwnNodes::All => file.write_rows(labelled.nodes.first, &tensor::bytes(values)),
            OwnNodes::InOriginalOrder { before } => {
                let rows = in_original_order(setup, labelled, *before)?;
                file.write_rows_at(&rows, &tensor::bytes(values))
            }
            OwnNodes::Some { rows, .. } => {
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

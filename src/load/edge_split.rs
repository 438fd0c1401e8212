//! The split of edges into training edges and predicted edges.

use serde::{Deserialize, Serialize};

use super::keys::MASKS;
use super::shards::edge_columns_of;
use super::target_edges::TargetEdges;
use crate::formats::dgl::{Feature, InnerEdge, Partition};
use crate::kernels::philox4x32;
use crate::words::error::{Error, Result};

/// Default fractions for validation and test.
const USUAL: EdgeSplit = EdgeSplit::Fractions { val: 0.05, test: 0.1 };

/// How edges are split.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EdgeSplit {
    /// The masks `train_mask`, `val_mask` and `test_mask` if the graph has them; otherwise 5 % of the edges for
    /// validation and 10 % for the test.
    #[default]
    Usual,
    /// Random fractions of the pairs of nodes. All edges between two nodes, in both directions, are on the same side,
    /// for any partitioning.
    Fractions {
        /// Fraction for validation.
        val: f64,
        /// Fraction for the test.
        test: f64,
    },
    /// Edge features as masks; nonzero values mean membership.
    Masks {
        /// Mask of the training edges.
        train: String,
        /// Mask of the validation edges.
        val: Option<String>,
        /// Mask of the test edges.
        test: Option<String>,
    },
}

/// Use of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EdgeUse {
    /// Trained on; messages pass along it.
    Train,
    /// Neither trained on nor predicted; messages pass along it.
    Message,
    /// Predicted after each epoch.
    Val,
    /// Predicted at the end.
    Test,
    /// Unused, because it is in no mask.
    Nothing,
}

impl EdgeUse {
    /// Whether messages pass along the edge.
    pub fn carries_messages(self) -> bool {
        matches!(self, EdgeUse::Train | EdgeUse::Message)
    }
}

impl EdgeSplit {
    /// Checks the fractions.
    ///
    /// # Errors
    /// If a fraction is negative, or no edges are left to train on.
    pub fn check(&self) -> Result<()> {
        match self {
            EdgeSplit::Fractions { val, test }
                if !(*val >= 0.0 && *test >= 0.0 && val + test < 1.0) =>
            {
                let problem = format!("{val} and {test} of the edges leave none to train on");
                Err(Error::config("link.split", problem)
                    .with_hint("each is 0 or more, and their sum is below 1"))
            }
            _ => Ok(()),
        }
    }

    /// The split of a graph: its masks, or fractions.
    #[must_use]
    pub fn of_graph(&self, partition: &Partition, target: Option<TargetEdges>) -> Self {
        if *self != EdgeSplit::Usual {
            return self.clone();
        }
        let is_predicted = |etype| target.is_none_or(|target| target.etype == etype);
        let features = partition.edge_features().features();
        let [train, val, test] = MASKS.map(|mask| {
            let is_mask = |found: &Feature| found.name() == mask && is_predicted(found.ty());
            features.iter().any(is_mask).then(|| mask.to_owned())
        });
        train.map_or(USUAL, |train| EdgeSplit::Masks { train, val, test })
    }

    /// Use of each edge of a partition, by index; a pure function of the graph, the split and the seed. With a
    /// `target`, edges of that type are trained on and predicted, an edge of its reverse type carries messages if and
    /// only if the edge itself does, and all other edges carry messages. Without one, edges of the
    /// [usual](TargetEdges::usual) types are predicted. With `added_loops`, only edges between different nodes are
    /// predicted, and self loops carry messages, whatever their masks.
    ///
    /// # Errors
    /// If a mask is missing, an edge is in several masks, or the edges cannot be read.
    pub fn uses(
        &self,
        partition: &Partition,
        target: Option<TargetEdges>,
        added_loops: bool,
        seed: u64,
    ) -> Result<Vec<EdgeUse>> {
        let split = self.of_graph(partition, target);
        let held_back = TargetEdges::held_back(target, partition.book());
        let own = partition.book().edge_range(partition.part());
        let masks = match &split {
            EdgeSplit::Usual | EdgeSplit::Fractions { .. } => [None, None, None],
            EdgeSplit::Masks { train, val, test } => {
                let column = |key: Option<&String>| {
                    let wanted = |etype: usize| held_back[etype];
                    key.map(|key| edge_columns_of(partition, key, &wanted)).transpose()
                };
                [column(Some(train))?, column(val.as_ref())?, column(test.as_ref())?]
            }
        };
        let in_mask = |i: usize, etype: usize, row: usize| {
            masks[i].as_ref().is_some_and(|mask: &Vec<Vec<f32>>| mask[etype][row] != 0.0)
        };
        let mut uses = vec![EdgeUse::Nothing; (own.end - own.start) as usize];
        partition.each_edge(|InnerEdge { src, dst, etype, row, id }| {
            let place = (id - own.start) as usize;
            if !held_back[etype] || (added_loops && src == dst) {
                uses[place] = EdgeUse::Message;
                return Ok(());
            }
            let found = match split {
                EdgeSplit::Fractions { val, test } => by_lot([src, dst], val, test, seed),
                EdgeSplit::Usual | EdgeSplit::Masks { .. } => {
                    match [0, 1, 2].map(|mask| in_mask(mask, etype, row as usize)) {
                        [false, false, false] => EdgeUse::Nothing,
                        [true, false, false] => EdgeUse::Train,
                        [false, true, false] => EdgeUse::Val,
                        [false, false, true] => EdgeUse::Test,
                        _ => return Err(in_several(partition, id)),
                    }
                }
            };
            uses[place] = match (found, target) {
                (EdgeUse::Train, Some(target)) if target.etype != etype => EdgeUse::Message,
                (_, Some(target)) if target.etype != etype => EdgeUse::Nothing,
                _ => found,
            };
            Ok(())
        })?;
        Ok(uses)
    }
}

fn in_several(partition: &Partition, edge: u64) -> Error {
    let problem = format!("edge {edge} is in several masks");
    Error::input(partition.edge_features().path(), "", problem)
        .with_hint("an edge is trained on or kept to be predicted, not both")
}

/// Random use of the edges between two nodes.
fn by_lot([a, b]: [u64; 2], val: f64, test: f64, seed: u64) -> EdgeUse {
    let (low, high) = (a.min(b), a.max(b));
    let counter = [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32];
    let lot = f64::from(philox4x32(counter, [seed as u32, (seed >> 32) as u32])[0]) / 2f64.powi(32);
    match lot {
        _ if lot < test => EdgeUse::Test,
        _ if lot < test + val => EdgeUse::Val,
        _ => EdgeUse::Train,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_kept_and_directions_stay_together() {
        let split = |a, b| by_lot([a, b], 0.1, 0.2, 3);
        let pairs = || (0..100).flat_map(|a| (0..a).map(move |b| (a, b)));
        assert!(pairs().all(|(a, b)| split(a, b) == split(b, a)));
        let count = |wanted| pairs().filter(|&(a, b)| split(a, b) == wanted).count();
        let counts = [EdgeUse::Train, EdgeUse::Val, EdgeUse::Test].map(count);
        // Standard deviations are 32, 21 and 28 of 4950 pairs.
        assert!((3300..3630).contains(&counts[0]), "{counts:?}");
        assert!((390..600).contains(&counts[1]) && (850..1130).contains(&counts[2]), "{counts:?}");
        assert!(EdgeSplit::Fractions { val: 0.5, test: 0.5 }.check().is_err());
        assert!(EdgeSplit::Fractions { val: 0.0, test: f64::NAN }.check().is_err());
        assert!(EdgeSplit::Fractions { val: 0.0, test: 0.0 }.check().is_ok());
    }
}

//! Classes in labels: their number, and unused ones.

use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

use super::setup::Surroundings;
use crate::engine::tensor;
use crate::nn::Task;
use crate::words::error::{Error, Result};

/// Class number below which any class is accepted, whatever the number of labels.
pub(crate) const USUAL_CLASSES: i64 = 1_000_000;
/// Largest class number up to which gaps are searched; a message to all ranks grows with it.
const MOST_BITS: i64 = 1 << 24;
/// Number of classes that a note lists.
const LISTED: usize = 10;

/// Classes in the labels of one rank, or of all.
#[derive(Serialize, Deserialize)]
pub(super) struct Classes {
    /// The largest class number, or the last column of rows of labels; -1 without labels.
    pub(super) highest: i64,
    /// Number of nodes that have a class.
    labelled: i64,
    /// The rank's first node with the largest class number.
    row: i64,
    /// A bit per class, set if a node has the class.
    present: Vec<u64>,
}

impl Classes {
    /// Scans the labels of a rank's nodes.
    pub(super) fn new(task: Task, labels: &Tensor) -> Result<Self> {
        let mut classes = Classes { highest: -1, labelled: 0, row: 0, present: Vec::new() };
        match task {
            Task::Classification => {
                let labels = &tensor::slice::<i64>(labels);
                for (label, row) in labels.iter().zip(0..).filter(|(label, _)| **label >= 0) {
                    classes.labelled += 1;
                    if *label > classes.highest {
                        (classes.highest, classes.row) = (*label, row);
                    }
                }
                if classes.highest < MOST_BITS {
                    labels.iter().filter(|label| **label >= 0).for_each(|l| classes.set(*l));
                }
            }
            Task::Multilabel => {
                classes.highest = labels.size()[1] - 1;
                let given = labels.f_gt(0)?.f_any_dim(0, false)?.f_to_kind(Kind::Uint8)?;
                let given: Vec<u8> = given.try_into()?;
                given.iter().zip(0..).filter(|(g, _)| **g == 1).for_each(|(_, c)| classes.set(c));
            }
            Task::Regression => classes.highest = labels.size()[1] - 1,
        }
        Ok(classes)
    }

    fn set(&mut self, class: i64) {
        let word = (class / 64) as usize;
        if self.present.len() <= word {
            self.present.resize(word + 1, 0);
        }
        self.present[word] |= 1 << (class % 64);
    }

    /// Merges the classes of all ranks. `first_row` returns a rank's first inner node that may have a label.
    pub(super) fn of_all(
        task: Task,
        ranks: &[&Classes],
        here: Surroundings<'_>,
        key: &str,
        first_row: impl Fn(usize) -> i64,
    ) -> Result<Self> {
        let mut all = Classes { highest: -1, labelled: 0, row: 0, present: Vec::new() };
        let mut owner = 0;
        for (rank, own) in ranks.iter().enumerate() {
            if own.highest > all.highest {
                (all.highest, all.row, owner) = (own.highest, own.row, rank);
            }
            all.labelled += own.labelled;
            all.present.resize(all.present.len().max(own.present.len()), 0);
            all.present.iter_mut().zip(&own.present).for_each(|(word, other)| *word |= other);
        }
        let most = USUAL_CLASSES.max(all.labelled);
        // A stand-in has few nodes, but as many classes as the real graph.
        if task != Task::Classification || all.highest < most || here.stand_in.is_some() {
            return Ok(all);
        }
        let book = here.partitions.book();
        let node = book.node_range(owner).start + (first_row(owner) + all.row) as u64;
        let ntype = book.node_type(node).unwrap_or(0);
        let row = node - book.node_type_range(owner, ntype).start;
        let problem = format!("row {row} holds {}, which is too large for a class", all.highest);
        let hint = format!(
            "classes are numbered from 0, and the model has an output for each; with {} labelled \
             nodes a number must be below {most}. To predict numbers, pass ‹task=regression›",
            all.labelled
        );
        Err(Error::input(&here.partitions.parts()[owner].node_feats, key, problem).with_hint(hint))
    }

    /// A note about outputs for classes without nodes, if there are any. `of_type` names the nodes' type if there are several.
    pub(super) fn gaps(&self, task: Task, outputs: i64, of_type: &str) -> Option<String> {
        if !task.has_classes() || self.highest >= MOST_BITS {
            return None;
        }
        let is_missing = |class: &i64| {
            let word = self.present.get((class / 64) as usize).copied().unwrap_or(0);
            word >> (class % 64) & 1 == 0
        };
        let missing: Vec<i64> = (0..outputs).filter(is_missing).collect();
        if missing.is_empty() {
            return None;
        }
        let listed: Vec<String> = missing.iter().take(LISTED).map(ToString::to_string).collect();
        let more = if missing.len() > LISTED { ", ..." } else { "" };
        Some(format!(
            "{} of {outputs} classes{of_type} have no labelled node: {}{more}",
            missing.len(),
            listed.join(", ")
        ))
    }
}

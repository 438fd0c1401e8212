//! The area under the ROC curve, computed exactly over all ranks.
//!
//! The area of a class is the fraction of pairs of a node in the class and a node outside it in which the former has
//! the higher score; ties count half (Hanley and McNeil 1982). Each class is assigned to a rank: all ranks send it
//! their sorted scores, which it merges and counts. In addition to the logits, memory holds one column of scores and a
//! few thousand scores per rank.

use tch::{Kind, Tensor};

use super::counts::Totals;
use super::score_runs::{PairCount, all_read, count, send};
use crate::engine::comm::{Inbox, Outbox, Recipient};
use crate::engine::tensor;
use crate::engine::tensor::{Shared, map_row_blocks};
use crate::event::{Metric, Scores};
use crate::nn::Task;
use crate::words::error::Result;

const MASKS: usize = 3;

/// One rank's scores of every class, column by column. Classification: log softmax, because a class is compared with
/// all others; multilabel: logits.
pub(super) struct ClassScores<'a> {
    task: Task,
    logits: &'a Tensor,
    labels: &'a Tensor,
    /// The masks of each row, one bit per mask.
    in_masks: &'a [u8],
    /// log Σ exp of each row, for classification.
    normalisers: Vec<f64>,
}

/// Counts for each class and mask. Ranks add up their counts.
pub(super) struct PairCounts(Vec<PairCount>);

impl<'a> ClassScores<'a> {
    pub(super) fn new(
        task: Task,
        logits: &'a Tensor,
        labels: &'a Tensor,
        in_masks: &'a [u8],
    ) -> Result<Self> {
        let normalisers = match task {
            Task::Classification => {
                let shared = Shared(logits);
                let blocks = map_row_blocks(in_masks.len() as i64, |start, len| {
                    let rows = shared.rows(start, len)?.f_to_kind(Kind::Double)?;
                    Ok(Vec::<f64>::try_from(rows.f_logsumexp([1_i64].as_slice(), false)?)?)
                })?;
                blocks.concat()
            }
            _ => vec![0.0; in_masks.len()],
        };
        Ok(ClassScores { task, logits, labels, in_masks, normalisers })
    }

    /// Sends the scores of each class, mask by mask, to the rank (of `ranks`) that counts them. Returns this rank's own
    /// part of the counts: rows with NaN scores, as positives or negatives.
    pub(super) fn send(&self, ranks: usize, outbox: &mut dyn Outbox) -> Result<PairCounts> {
        let classes = self.logits.size()[1] as usize;
        let mut counts = PairCounts::none(classes);
        for rank in 0..ranks {
            outbox.begin(Recipient::Rank(rank))?;
            for class in (rank..classes).step_by(ranks) {
                let (scores, positive) = self.column(class as i64)?;
                for mask in 0..MASKS {
                    let rows = scores.iter().zip(&positive).zip(self.in_masks);
                    let rows = rows.filter(|(_, masks)| **masks >> mask & 1 == 1);
                    let rows = rows.map(|((score, positive), _)| (*score, *positive));
                    let records = counts.0[class * MASKS + mask].records(rows);
                    send(records.collect(), outbox)?;
                }
            }
        }
        Ok(counts)
    }

    /// Scores of a class, and whether each row belongs to it.
    fn column(&self, class: i64) -> Result<(Vec<f64>, Vec<bool>)> {
        let column = self.logits.f_select(1, class)?.f_to_kind(Kind::Double)?;
        let mut scores: Vec<f64> = Vec::try_from(column.f_contiguous()?)?;
        scores.iter_mut().zip(&self.normalisers).for_each(|(score, log_sum)| *score -= log_sum);
        let positive = match self.task {
            Task::Classification => self.labels.f_eq(class)?,
            _ => self.labels.f_select(1, class)?.f_gt(0)?,
        };
        Ok((scores, Vec::try_from(positive)?))
    }
}

impl PairCounts {
    fn none(classes: usize) -> Self {
        PairCounts(vec![PairCount::default(); classes * MASKS])
    }

    /// Adds the pairs of the classes for which this rank has received all ranks' scores.
    pub(super) fn receive(&mut self, own: usize, mut inboxes: Vec<Box<dyn Inbox>>) -> Result<()> {
        let classes = self.0.len() / MASKS;
        for class in (own..classes).step_by(inboxes.len()) {
            for mask in 0..MASKS {
                self.0[class * MASKS + mask] += count(&mut inboxes)?;
            }
        }
        all_read(&inboxes)
    }

    pub(super) fn to_tensor(&self) -> Result<Tensor> {
        Ok(Tensor::f_from_slice::<i64>(bytemuck::cast_slice(&self.0))?)
    }

    pub(super) fn from_tensor(sums: &Tensor) -> Self {
        PairCounts(bytemuck::cast_slice(&tensor::slice::<i64>(sums)).to_vec())
    }

    /// Mean area over classes that have both positives and negatives.
    pub(super) fn scores(&self, totals: Totals) -> Scores {
        totals.scores(Metric::RocAuc, |mask, nodes| {
            let of_mask = self.0.iter().skip(mask).step_by(MASKS);
            let areas: Vec<f64> = of_mask.filter_map(PairCount::area).collect();
            let mean = areas.iter().sum::<f64>() / areas.len() as f64;
            (nodes > 0 && !areas.is_empty()).then_some(mean)
        })
    }
}

//! The area under the ROC curve, exactly, over all ranks.
//!
//! The area of a class is the fraction of pairs, of a node in the class and one outside it, in which the former has the higher
//! score; ties count half (Hanley and McNeil 1982). Every rank sends its positives' scores, sorted, to all ranks, and counts
//! the pairs of every rank's positives with its own negatives. Besides the logits, memory holds one column of scores and one
//! sender's positives of one class.

use rayon::prelude::*;
use tch::{Kind, Tensor};

use super::counts::Totals;
use crate::engine::comm::{Inbox, Outbox};
use crate::engine::tensor;
use crate::engine::tensor::{Shared, map_row_blocks};
use crate::error::Result;
use crate::event::{Metric, Scores};
use crate::nn::Task;

const MASKS: usize = 3;

/// One rank's scores of every class, column by column. Classification: log softmax, so that a class stands against all others;
/// multilabel: logits.
pub(super) struct ClassScores<'a> {
    task: Task,
    logits: &'a Tensor,
    labels: &'a Tensor,
    /// The masks of each row, one bit per mask.
    in_masks: &'a [u8],
    /// log Σ exp of each row, for classification.
    normalisers: Vec<f64>,
}

/// Counts for each class and mask: twice the pairs in which the positive wins (once for a tie), positives, negatives, and
/// scores that are NaN, which make the area NaN.
pub(super) struct PairCounts(Vec<[i64; 4]>);

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

    /// Writes the positives' scores: by class, by mask, their number (u64) and the scores (f64) in ascending order.
    pub(super) fn send(&self, outbox: &mut dyn Outbox) -> Result<()> {
        for class in 0..self.classes() {
            let (scores, positive) = self.column(class)?;
            for mask in 0..MASKS {
                let mut chosen = self.chosen(mask, &scores, &positive, true);
                chosen.par_sort_unstable_by(f64::total_cmp);
                outbox.write(&(chosen.len() as u64).to_le_bytes())?;
                outbox.write(bytemuck::cast_slice(&chosen))?;
            }
        }
        Ok(())
    }

    /// Counts own negatives against the scores that the ranks have sent; the positives themselves are counted on receipt by
    /// `own`.
    pub(super) fn count(&self, inboxes: Vec<Box<dyn Inbox>>, own: usize) -> Result<PairCounts> {
        let mut inboxes = inboxes;
        let mut counts = Vec::new();
        for class in 0..self.classes() {
            let (scores, positive) = self.column(class)?;
            for mask in 0..MASKS {
                let negatives = self.chosen(mask, &scores, &positive, false);
                let mut wins = 0;
                let mut positives = 0;
                let mut undefined = count_nan(&negatives);
                for (rank, inbox) in inboxes.iter_mut().enumerate() {
                    let sorted = receive(&mut **inbox)?;
                    wins +=
                        negatives.par_iter().map(|score| twice_above(&sorted, *score)).sum::<i64>();
                    if rank == own {
                        positives = sorted.len() as i64;
                        undefined += count_nan(&sorted);
                    }
                }
                counts.push([wins, positives, negatives.len() as i64, undefined]);
            }
        }
        // A wrong number of scores shows only here, as the checksum is known at the end of a message.
        match inboxes.iter().find(|inbox| inbox.remaining() > 0) {
            Some(inbox) => Err(inbox.damaged("holds more scores than were read")),
            None => Ok(PairCounts(counts)),
        }
    }

    fn classes(&self) -> i64 {
        self.logits.size()[1]
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

    fn chosen(&self, mask: usize, scores: &[f64], positive: &[bool], which: bool) -> Vec<f64> {
        let rows = scores.iter().zip(positive).zip(self.in_masks);
        let chosen = rows.filter(|((_, p), masks)| **p == which && **masks >> mask & 1 == 1);
        chosen.map(|((score, _), _)| *score).collect()
    }
}

/// Twice the number of sorted scores above `score`, plus the number of equal ones.
fn twice_above(sorted: &[f64], score: f64) -> i64 {
    let below = sorted.partition_point(|s| *s < score);
    let not_above = sorted.partition_point(|s| *s <= score);
    (2 * (sorted.len() - not_above) + (not_above - below)) as i64
}

fn count_nan(scores: &[f64]) -> i64 {
    scores.iter().filter(|score| score.is_nan()).count() as i64
}

fn receive(inbox: &mut dyn Inbox) -> Result<Vec<f64>> {
    let mut len = [0; 8];
    inbox.read(&mut len)?;
    let len = u64::from_le_bytes(len);
    if len > inbox.remaining() / 8 {
        return Err(inbox.damaged(&format!("announces {len} scores, more than it holds")));
    }
    let mut scores = vec![0.0; len as usize];
    inbox.read(bytemuck::cast_slice_mut(&mut scores))?;
    Ok(scores)
}

impl PairCounts {
    pub(super) fn to_tensor(&self) -> Result<Tensor> {
        Ok(Tensor::f_from_slice(self.0.as_flattened())?)
    }

    pub(super) fn from_tensor(sums: &Tensor) -> Self {
        PairCounts(tensor::slice::<i64>(sums).as_chunks().0.to_vec())
    }

    /// The mean area over the classes that have both positives and negatives.
    pub(super) fn scores(&self, totals: Totals) -> Scores {
        let mean = |mask: usize, nodes: i64| {
            let of_mask = self.0.iter().skip(mask).step_by(MASKS);
            let known =
                of_mask.filter(|[_, positives, negatives, _]| *positives > 0 && *negatives > 0);
            let area = |[wins, positives, negatives, undefined]: &[i64; 4]| match undefined {
                0 => *wins as f64 / (2.0 * *positives as f64 * *negatives as f64),
                _ => f64::NAN,
            };
            let areas: Vec<f64> = known.map(area).collect();
            let mean = areas.iter().sum::<f64>() / areas.len() as f64;
            (nodes > 0 && !areas.is_empty()).then_some(mean)
        };
        let Totals { train, val, test } = totals;
        let metric = Metric::RocAuc;
        Scores { metric, train: mean(0, train), val: mean(1, val), test: mean(2, test) }
    }
}

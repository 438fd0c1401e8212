//! Evaluation of a model: forward passes without dropout.

use tch::{Kind, Tensor};

use super::class_table::ClassTable;
use super::counts::Counts;
use super::roc_auc::{ClassScores, PairCounts};
use super::trainer::Trainer;
use crate::engine::comm::{Operation, ReduceOp, all_reduce, complete};
use crate::engine::spill::Masks;
use crate::engine::tape::Var;
use crate::engine::tensor;
use crate::event::{Evaluation, Scores};
use crate::words::error::{Error, Result};

impl Trainer<'_> {
    /// The task's metric, over all ranks.
    ///
    /// # Errors
    /// If an operation or a collective fails.
    pub fn validate(&self) -> Result<Scores> {
        let counts = {
            let logits = self.logits()?;
            let values = logits.pin()?;
            self.count(&values)?.0
        };
        let [sums] = self.sum([counts.to_tensor()?])?;
        let counts = Counts::from_tensor(&sums)?;
        Ok(counts.over(self.loss.task(), self.totals, self.outputs).1)
    }

    /// Loss and all metrics of the task, over all ranks. `epoch` is the epoch that produced the weights.
    ///
    /// # Errors
    /// If an operation or a collective fails.
    pub fn evaluate(&self, epoch: u32) -> Result<Evaluation> {
        let begin = self.mark();
        let evaluation = self.evaluate_all(epoch)?;
        Ok(Evaluation { seconds: self.mark().seconds_since(&begin), ..evaluation })
    }

    fn evaluate_all(&self, epoch: u32) -> Result<Evaluation> {
        let logits = self.logits()?;
        let task = self.loss.task();
        let counts = self.count(&*logits.pin()?)?.0.to_tensor()?;
        let seconds = 0.0;
        if !task.has_classes() {
            drop(logits);
            let [counts] = self.sum([counts])?;
            let (loss, scores) =
                Counts::from_tensor(&counts)?.over(task, self.totals, self.outputs);
            return Ok(Evaluation { epoch, loss, scores: vec![scores], confusion: None, seconds });
        }
        let table = {
            let (logits, labels) = (logits.pin()?, self.labels.pin()?);
            ClassTable::new(task, &logits, &labels, &bits(&self.masks)?)?
        };
        let with_area = self.roc_auc || self.outputs <= 2;
        let areas = if with_area {
            self.compare_classes(logits)?.to_tensor()?
        } else {
            drop(logits);
            tensor::zeros(&[0], Kind::Int64)?
        };
        let [in_counts, in_matrix] = table.to_tensors()?;
        let [counts, in_counts, in_matrix, areas] =
            self.sum([counts, in_counts, in_matrix, areas])?;
        let (loss, scores) = Counts::from_tensor(&counts)?.over(task, self.totals, self.outputs);
        let table = table.with_sums(&in_counts, &in_matrix)?;
        let [micro, macro_average] = table.scores(self.totals);
        let mut all = vec![scores];
        // The task's own metric is already in the list.
        all.extend((micro.metric != scores.metric).then_some(micro));
        all.push(macro_average);
        all.extend(with_area.then(|| PairCounts::from_tensor(&areas).scores(self.totals)));
        let confusion = table.confusion(self.totals);
        Ok(Evaluation { epoch, loss, scores: all, confusion, seconds })
    }

    /// This rank's part of the pairs that ROC AUC counts. One collective.
    fn compare_classes(&self, logits: Var) -> Result<PairCounts> {
        let task = self.loss.task();
        let (mut counts, posted) = {
            let (logits, labels) = (logits.pin()?, self.labels.pin()?);
            let in_masks = bits(&self.masks)?;
            let mut outbox = self.group.outbox(Operation::CompareScores)?;
            let scores = ClassScores::new(task, &logits, &labels, &in_masks)?;
            let counts = scores.send(self.group.world_size(), &mut *outbox)?;
            (counts, outbox.post()?)
        };
        drop(logits);
        let collective = complete(self.group, posted, &**self.manager)?;
        let inboxes = (0..self.group.world_size()).map(|from| self.group.inbox(&collective, from));
        counts.receive(self.group.rank(), inboxes.collect::<Result<Vec<_>>>()?)?;
        Ok(counts)
    }

    fn sum<const N: usize>(&self, tensors: [Tensor; N]) -> Result<[Tensor; N]> {
        let sums = all_reduce(self.group, tensors.into(), ReduceOp::Sum, &**self.manager)?;
        sums.try_into().map_err(|_| Error::internal("a sum is missing"))
    }
}

/// The masks of each row: 1 for train, 2 for validation, 4 for test.
fn bits(masks: &Masks) -> Result<Vec<u8>> {
    let mut bits = vec![0; masks.train.size()[0] as usize];
    for (i, mask) in [&masks.train, &masks.val, &masks.test].into_iter().enumerate() {
        let mask = mask.pin()?.f_to_kind(Kind::Uint8)?;
        bits.iter_mut()
            .zip(tensor::slice::<u8>(&mask).iter())
            .for_each(|(bits, m)| *bits |= m << i);
    }
    Ok(bits)
}

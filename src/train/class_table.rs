//! Counts of true and predicted classes, for F1 and confusion matrices.

use tch::{Kind, Tensor};

use super::counts::Totals;
use crate::engine::tensor;
use crate::engine::tensor::{Shared, map_row_blocks};
use crate::event::{Confusion, Metric, Scores};
use crate::nn::{Task, f1};
use crate::words::error::Result;

/// Largest number of classes with a confusion matrix. With several labels per node, each class has a table of four cells, and
/// four times as many classes have one.
const MOST_CLASSES: i64 = 100;

/// For each mask and class, how often the class is predicted, true, and both. Ranks add up their tables.
pub(super) struct ClassTable {
    task: Task,
    classes: usize,
    /// `[3 masks, classes, 3]`: number of nodes with the class as both prediction and label, as prediction, and as
    /// label.
    counts: Vec<i64>,
    /// `[3 masks, classes, classes]`: number of nodes by class and predicted class, if each node has one class and
    /// there are few classes.
    matrix: Vec<i64>,
}

impl ClassTable {
    /// The table of one rank. `in_masks` holds a byte per row with a bit per mask.
    pub(super) fn new(
        task: Task,
        logits: &Tensor,
        labels: &Tensor,
        in_masks: &[u8],
    ) -> Result<Self> {
        let classes = logits.size()[1];
        let with_matrix = task == Task::Classification && classes <= MOST_CLASSES;
        let classes = classes as usize;
        let mut table = ClassTable {
            task,
            classes,
            counts: vec![0; 3 * classes * 3],
            matrix: vec![0; if with_matrix { 3 * classes * classes } else { 0 }],
        };
        match task {
            Task::Multilabel => table.count_several(logits, labels, in_masks)?,
            _ => table.count_one(logits, labels, in_masks)?,
        }
        Ok(table)
    }

    pub(super) fn to_tensors(&self) -> Result<[Tensor; 2]> {
        Ok([Tensor::f_from_slice(&self.counts)?, Tensor::f_from_slice(&self.matrix)?])
    }

    /// The table with sums over all ranks.
    pub(super) fn with_sums(self, counts: &Tensor, matrix: &Tensor) -> Result<Self> {
        Ok(ClassTable { counts: Vec::try_from(counts)?, matrix: Vec::try_from(matrix)?, ..self })
    }

    /// F1 scores with each kind of average.
    pub(super) fn scores(&self, totals: Totals) -> [Scores; 2] {
        let of = |metric, average: fn(&Self, usize) -> f64| {
            totals.scores(metric, |mask, nodes| (nodes > 0).then(|| average(self, mask)))
        };
        [of(Metric::F1Micro, Self::micro), of(Metric::F1Macro, Self::macro_average)]
    }

    /// Confusion tables, if they are small enough to read.
    pub(super) fn confusion(&self, totals: Totals) -> Option<Confusion> {
        let Totals { train, val, test } = totals;
        let small = self.task == Task::Multilabel && self.classes as i64 <= 4 * MOST_CLASSES;
        let table = |mask: usize, nodes: i64| {
            if nodes == 0 {
                return Vec::new();
            }
            if self.task == Task::Multilabel {
                let rows = (0..self.classes).map(|class| self.of_class(mask, class));
                return rows
                    .map(|[tp, fp, fn_]| row(&[nodes - tp - fp - fn_, fp, fn_, tp]))
                    .collect();
            }
            let size = self.classes * self.classes;
            self.matrix[mask * size..][..size].chunks(self.classes).map(row).collect()
        };
        (small || !self.matrix.is_empty()).then(|| Confusion {
            train: table(0, train),
            val: table(1, val),
            test: table(2, test),
        })
    }

    /// True positives, false positives and false negatives.
    fn of_class(&self, mask: usize, class: usize) -> [i64; 3] {
        let at = (mask * self.classes + class) * 3;
        let [right, predicted, actual] = [0, 1, 2].map(|i| self.counts[at + i]);
        [right, predicted - right, actual - right]
    }

    fn micro(&self, mask: usize) -> f64 {
        let mut sums = [0; 3];
        for class in 0..self.classes {
            let counts = self.of_class(mask, class);
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        let [tp, fp, fn_] = sums.map(|n| n as f64);
        f1(tp, fp, fn_)
    }

    /// Macro average. With one class per node, it is taken over classes that occur as label or prediction, as in
    /// scikit-learn.
    fn macro_average(&self, mask: usize) -> f64 {
        let classes = (0..self.classes).map(|class| self.of_class(mask, class));
        let several = self.task == Task::Multilabel;
        let known: Vec<_> = classes.filter(|counts| several || *counts != [0; 3]).collect();
        let sum: f64 = known
            .iter()
            .map(|counts| counts.map(|n| n as f64))
            .map(|[tp, fp, fn_]| f1(tp, fp, fn_))
            .sum();
        sum / known.len() as f64
    }

    fn count_one(&mut self, logits: &Tensor, labels: &Tensor, in_masks: &[u8]) -> Result<()> {
        let logits = Shared(logits);
        let predicted = map_row_blocks(in_masks.len() as i64, |start, len| {
            let (largest, predicted) = logits.rows(start, len)?.f_max_dim(1, false)?;
            // A row with a NaN has no prediction.
            let predicted = predicted.f_masked_fill(&largest.f_isnan()?, -1)?;
            Ok(Vec::<i64>::try_from(predicted)?)
        })?;
        let labels = tensor::slice::<i64>(labels);
        let rows = predicted.iter().flatten().zip(labels.iter()).zip(in_masks);
        for ((&predicted, &actual), &masks) in rows {
            let actual = actual as usize;
            for mask in (0..3).filter(|mask| masks >> mask & 1 == 1) {
                let at = |class| (mask * self.classes + class) * 3;
                self.counts[at(actual) + 2] += 1;
                let Ok(predicted) = usize::try_from(predicted) else { continue };
                self.counts[at(predicted)] += i64::from(predicted == actual);
                self.counts[at(predicted) + 1] += 1;
                if !self.matrix.is_empty() {
                    self.matrix[(mask * self.classes + actual) * self.classes + predicted] += 1;
                }
            }
        }
        Ok(())
    }

    fn count_several(&mut self, logits: &Tensor, labels: &Tensor, in_masks: &[u8]) -> Result<()> {
        let (logits, labels, classes) = (Shared(logits), Shared(labels), self.classes);
        let blocks = map_row_blocks(in_masks.len() as i64, |start, len| {
            let predicted = logits.rows(start, len)?.f_gt(0)?.f_to_kind(Kind::Uint8)?;
            let actual = labels.rows(start, len)?.f_gt(0)?.f_to_kind(Kind::Uint8)?;
            let [predicted, actual] = [&predicted, &actual].map(tensor::slice::<u8>);
            let rows = predicted.chunks(classes).zip(actual.chunks(classes));
            let mut counts = vec![0_i64; 3 * classes * 3];
            for ((predicted, actual), masks) in rows.zip(&in_masks[start as usize..]) {
                for mask in (0..3).filter(|mask| masks >> mask & 1 == 1) {
                    let columns = predicted.iter().zip(actual);
                    let of_mask = &mut counts[mask * classes * 3..][..classes * 3];
                    for (counts, (&predicted, &actual)) in of_mask.chunks_mut(3).zip(columns) {
                        counts[0] += i64::from(predicted & actual);
                        counts[1] += i64::from(predicted);
                        counts[2] += i64::from(actual);
                    }
                }
            }
            Ok(counts)
        })?;
        for block in blocks {
            self.counts.iter_mut().zip(block).for_each(|(sum, count)| *sum += count);
        }
        Ok(())
    }
}

fn row(counts: &[i64]) -> Vec<u64> {
    counts.iter().map(|count| *count as u64).collect()
}

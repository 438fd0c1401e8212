//! Scores of predictions, for sets of labelled nodes.

use tch::Tensor;

use super::class_table::ClassTable;
use super::counts::Totals;
use crate::engine::comm::{Hooks, ProcessGroup, ReduceOp, all_reduce};
use crate::event::{Metric, SetScores};
use crate::nn::{ScoreSums, Task};
use crate::words::error::Result;

/// Names of the sets, in the order of their bits.
const SETS: [&str; 4] = ["train", "val", "test", "all labelled"];

/// Sums over a rank's nodes, from which scores are computed.
pub struct PredictionSums {
    task: Task,
    outputs: i64,
    /// Number of nodes in each set.
    nodes: Vec<i64>,
    /// Sums of the task's metric, set by set.
    sums: Vec<f64>,
    /// Tables of the classes of the masks, and of all nodes.
    tables: Vec<ClassTable>,
}

impl PredictionSums {
    /// Sums for a model's output, one row per node, and labels in the form that the task's loss takes. `sets` has a
    /// byte per node with a bit per set: training, validation, test and all nodes.
    ///
    /// # Errors
    /// If logits, labels and sets do not fit each other (`Tensor`).
    pub fn new(task: Task, logits: &Tensor, labels: &Tensor, sets: &[u8]) -> Result<Self> {
        let (mut nodes, mut sums) = (Vec::new(), Vec::new());
        for bit in 0..SETS.len() {
            let inside: Vec<bool> = sets.iter().map(|sets| sets >> bit & 1 == 1).collect();
            nodes.push(inside.iter().filter(|inside| **inside).count() as i64);
            let mask = Tensor::f_from_slice(&inside)?;
            sums.extend(ScoreSums::new(task, logits, labels, &mask)?.0);
        }
        let mut tables = Vec::new();
        if task.has_classes() {
            // A table has room for three sets.
            for shift in [0, 3] {
                let of_table: Vec<u8> = sets.iter().map(|sets| sets >> shift & 7).collect();
                tables.push(ClassTable::new(task, logits, labels, &of_table)?);
            }
        }
        Ok(PredictionSums { task, outputs: logits.size()[1], nodes, sums, tables })
    }

    /// Scores of each set that has nodes, over all ranks. One collective.
    ///
    /// # Errors
    /// If a message cannot be written or read (`Io`, `OutOfDisk`, `Corrupt`), or the run is being stopped (`Aborted`,
    /// `Interrupted`).
    pub fn over_ranks(self, group: &dyn ProcessGroup, hooks: &dyn Hooks) -> Result<Vec<SetScores>> {
        let mut values =
            vec![Tensor::f_from_slice(&self.nodes)?, Tensor::f_from_slice(&self.sums)?];
        for table in &self.tables {
            let [counts, _] = table.to_tensors()?;
            values.push(counts);
        }
        let values = all_reduce(group, values, ReduceOp::Sum, hooks)?;
        let nodes = Vec::<i64>::try_from(&values[0])?;
        let sums = Vec::<f64>::try_from(&values[1])?;
        let totals = [[nodes[0], nodes[1], nodes[2]], [nodes[3], 0, 0]];
        let totals = totals.map(|[train, val, test]| Totals { train, val, test });
        let mut of_classes = Vec::new();
        for ((table, counts), totals) in self.tables.into_iter().zip(&values[2..]).zip(totals) {
            let matrix = Tensor::f_from_slice::<i64>(&[])?;
            of_classes.push(table.with_sums(counts, &matrix)?.scores(totals));
        }
        let mut found = Vec::new();
        for (set, (name, nodes)) in SETS.iter().zip(nodes).enumerate().filter(|(_, (_, n))| *n > 0)
        {
            let own = [sums[3 * set], sums[3 * set + 1], sums[3 * set + 2]];
            let own = ScoreSums(own).score(self.task, nodes, self.outputs);
            let metric = self.task.metric();
            let mut scores: Vec<(Metric, f64)> =
                own.map(|score| (metric, score)).into_iter().collect();
            for scores_of in of_classes.get(set / 3).into_iter().flatten() {
                let value = scores_of.named()[set % 3].1.filter(|_| scores_of.metric != metric);
                scores.extend(value.map(|value| (scores_of.metric, value)));
            }
            found.push(SetScores { name: (*name).to_owned(), nodes: nodes as u64, scores });
        }
        Ok(found)
    }
}

//! The file of `--dump-step`: logits, loss and gradients of one step, as safetensors.

use std::collections::BTreeMap;
use std::path::Path;

use tch::{Kind, Tensor};

use super::labelled::LabelledGroup;
use crate::engine::comm::{Ranks, Recipient, barrier, bring_together, spans_machines};
use crate::engine::tensor;
use crate::graph::PartitionBook;
use crate::io::{ArraySpec, ArraysFile, Dtype};
use crate::nn::LearnedRows;
use crate::train::{Step, Trainer};
use crate::words::error::Result;

/// The file while it is written. All ranks write `logits` (`logits.TYPE` for several node types) and gradients of
/// learned rows; rank 0 writes everything else. All arrays are float32.
pub(super) struct StepDump {
    file: ArraysFile,
    /// Names of the arrays of logits: one for all nodes, or one per node type.
    logits: Vec<String>,
}

impl StepDump {
    /// Opens the file; all ranks call this with the same arguments.
    pub(super) fn open(
        path: &Path,
        trainer: &Trainer<'_>,
        groups: &[LabelledGroup],
        book: &PartitionBook,
    ) -> Result<Self> {
        let name = |group: &LabelledGroup| match group.labelled.ntype {
            Some(ntype) if groups.len() > 1 => format!("logits.{}", book.ntypes()[ntype]),
            _ => "logits".to_owned(),
        };
        let logits: Vec<String> = groups.iter().map(name).collect();
        let shape = |group: &LabelledGroup| {
            let classes = group.classes.end - group.classes.start;
            vec![group.labelled.nodes.total, classes as u64]
        };
        let mut arrays: Vec<_> = logits.iter().cloned().zip(groups.iter().map(shape)).collect();
        arrays.push(("loss".to_owned(), vec![1]));
        for parameter in trainer.parameters.iter() {
            let shape = trainer.parameters.shape(parameter).iter().map(|d| *d as u64).collect();
            arrays.push((gradient_of(trainer.parameters.name(parameter)), shape));
        }
        for rows in trainer.forward.learned() {
            arrays.push((gradient_of(rows.key()), rows.shape().to_vec()));
        }
        let specs = arrays.iter();
        let specs = specs.map(|(name, shape)| ArraySpec { name, dtype: Dtype::F32, shape });
        let file = ArraysFile::open(path, specs.collect(), &BTreeMap::new())?;
        Ok(StepDump { file, logits })
    }

    /// Writes the logits of own nodes, given group after group.
    pub(super) fn write_logits(&self, groups: &[LabelledGroup], logits: &Tensor) -> Result<()> {
        let mut first = 0;
        for (name, LabelledGroup { labelled, classes }) in self.logits.iter().zip(groups) {
            let (own, width) = (labelled.nodes.own as i64, classes.end - classes.start);
            let rows = logits.f_narrow(0, first, own)?.f_narrow(1, classes.start, width)?;
            let row_bytes = width as u64 * size_of::<f32>() as u64;
            self.write(name, labelled.nodes.first * row_bytes, &rows)?;
            first += own;
        }
        Ok(())
    }

    /// Writes loss and gradients, and renames the file to its final name. One collective if there are learned rows, or
    /// several machines.
    pub(super) fn finish(self, trainer: &Trainer<'_>, step: &Step) -> Result<()> {
        let learned = trainer.forward.learned();
        for (rows, gradient) in learned.iter().zip(&step.learned) {
            self.write(&gradient_of(rows.key()), rows.first_byte(), &*gradient.pin()?)?;
        }
        let ranks = Ranks { group: trainer.group, hooks: &**trainer.manager };
        if spans_machines(ranks.group) {
            bring_together(self.file.rows(), Recipient::Rank(0), ranks)?;
        } else if !learned.is_empty() {
            barrier(ranks.group, ranks.hooks)?;
        }
        if trainer.group.rank() != 0 {
            return Ok(());
        }
        self.file.write("loss", 0, &(step.loss as f32).to_le_bytes())?;
        for parameter in trainer.parameters.iter() {
            let gradient = trainer.parameters.view(&step.gradient, parameter)?;
            self.write(&gradient_of(trainer.parameters.name(parameter)), 0, &gradient)?;
        }
        self.file.finish()
    }

    fn write(&self, name: &str, first_byte: u64, values: &Tensor) -> Result<()> {
        let values = values.f_to_kind(Kind::Float)?.f_contiguous()?;
        self.file.write(name, first_byte, &tensor::bytes(&values))?;
        Ok(())
    }
}

fn gradient_of(name: &str) -> String {
    format!("grad.{name}")
}

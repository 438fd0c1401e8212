//! The file of `--dump-step`: logits, loss and gradients of one step, as safetensors.

use std::collections::BTreeMap;
use std::path::Path;

use tch::{Kind, Tensor};

use crate::engine::comm::{Ranks, Recipient, barrier, bring_together, spans_machines};
use crate::engine::tensor;
use crate::error::Result;
use crate::graph::TypeNodes;
use crate::io::{ArraySpec, ArraysFile, Dtype};
use crate::nn::LearnedRows;
use crate::train::{Step, Trainer};

/// The file while it is written: all ranks write `logits` and the gradients of learned rows, rank 0 writes the rest. All arrays
/// are float32.
pub(super) struct StepDump {
    file: ArraysFile,
    /// Size of a row of logits in bytes.
    row_bytes: u64,
}

impl StepDump {
    /// Opens the file; all ranks do so in the same way.
    pub(super) fn open(path: &Path, trainer: &Trainer<'_>, num_nodes: u64) -> Result<Self> {
        let classes = trainer.outputs as u64;
        let mut arrays =
            vec![("logits".to_owned(), vec![num_nodes, classes]), ("loss".to_owned(), vec![1])];
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
        Ok(StepDump { file, row_bytes: classes * size_of::<f32>() as u64 })
    }

    /// Writes the logits of own nodes.
    pub(super) fn write_logits(&self, nodes: TypeNodes, logits: &Tensor) -> Result<()> {
        self.write("logits", nodes.first * self.row_bytes, logits)
    }

    /// Writes loss and gradients, and gives the file its final name. One collective if there are learned rows, or several machines.
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

//! The file of `--dump-step`: logits, loss and gradients of one step, as safetensors.

use std::path::Path;

use tch::{Kind, Tensor};

use crate::error::Result;
use crate::io::{ArraySpec, Dtype, RowFile, safetensors_header};
use crate::tape::ParameterSet;
use crate::tensor;

/// The file being written: `logits` by all ranks, the rest by rank 0. Everything is float32.
pub(super) struct StepDump {
    file: RowFile,
    num_nodes: u64,
}

impl StepDump {
    /// All ranks open it alike.
    pub(super) fn open(
        path: &Path,
        parameters: &ParameterSet,
        num_nodes: u64,
        classes: i64,
    ) -> Result<Self> {
        let row_bytes = classes as usize * size_of::<f32>();
        let header = header(parameters, num_nodes, classes)?;
        Ok(StepDump { file: RowFile::open(path, header, row_bytes)?, num_nodes })
    }

    /// Writes the logits of consecutive nodes.
    pub(super) fn write_logits(&self, first_node: u64, logits: &Tensor) -> Result<()> {
        let logits = logits.f_to_kind(Kind::Float)?.f_contiguous()?;
        self.file.write_rows(first_node, tensor::bytes(&logits))
    }

    /// Writes loss and gradients (laid out as [`ParameterSet::flat`]) and gives the file its name. For rank 0, once all
    /// ranks have written their logits.
    pub(super) fn finish(self, loss: f64, parameters: &ParameterSet, flat: &Tensor) -> Result<()> {
        let mut trailer = (loss as f32).to_le_bytes().to_vec();
        for parameter in parameters.iter() {
            let gradient = parameters.view(flat, parameter)?;
            let gradient = gradient.f_to_kind(Kind::Float)?.f_contiguous()?;
            trailer.extend_from_slice(tensor::bytes(&gradient));
        }
        self.file.finish(self.num_nodes, &trailer)
    }
}

fn header(parameters: &ParameterSet, num_nodes: u64, classes: i64) -> Result<Vec<u8>> {
    let mut arrays =
        vec![("logits".to_owned(), vec![num_nodes, classes as u64]), ("loss".to_owned(), vec![1])];
    for parameter in parameters.iter() {
        let shape = parameters.shape(parameter).iter().map(|d| *d as u64).collect();
        arrays.push((format!("grad.{}", parameters.name(parameter)), shape));
    }
    let spec = |(name, shape)| ArraySpec { name, dtype: Dtype::F32, shape };
    let specs = arrays.iter().map(|(name, shape)| spec((name.as_str(), shape.as_slice())));
    safetensors_header(&specs.collect::<Vec<_>>())
}

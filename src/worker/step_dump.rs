//! The file of `--dump-step`: logits, loss and gradients of one step, as safetensors.

use std::path::Path;

use serde_json::{Map, Value, json};
use tch::{Kind, Tensor};

use crate::error::{Error, Result};
use crate::io::RowFile;
use crate::tape::{Parameter, ParameterSet};
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

/// The header of a safetensors file: its length, then JSON, padded so that tensors begin at a multiple of 8 bytes.
fn header(parameters: &ParameterSet, num_nodes: u64, classes: i64) -> Result<Vec<u8>> {
    let mut entries = Map::new();
    let mut end = 0;
    let mut add = |name: String, shape: Vec<i64>| {
        let begin = end;
        end += shape.iter().product::<i64>() * size_of::<f32>() as i64;
        let entry = json!({"dtype": "F32", "shape": shape, "data_offsets": [begin, end]});
        entries.insert(name, entry);
    };
    add("logits".to_owned(), vec![num_nodes as i64, classes]);
    add("loss".to_owned(), vec![1]);
    let gradient =
        |p: Parameter| (format!("grad.{}", parameters.name(p)), parameters.shape(p).to_vec());
    for (name, shape) in parameters.iter().map(gradient) {
        add(name, shape);
    }
    let mut text = serde_json::to_vec(&Value::Object(entries))
        .map_err(|e| Error::Internal(format!("a header cannot be written: {e}")))?;
    text.resize(text.len().next_multiple_of(8), b' ');
    let mut header = (text.len() as u64).to_le_bytes().to_vec();
    header.extend(text);
    Ok(header)
}

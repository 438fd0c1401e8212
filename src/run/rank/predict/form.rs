//! The forms of predictions.

use std::collections::BTreeMap;
use std::path::Path;

use tch::{Kind, Tensor};

use crate::engine::tensor;
use crate::io::{ArraySpec, Dtype, npy_header, safetensors_header};
use crate::nn::Task;
use crate::words::choice::{Choice, choices};
use crate::words::error::{Error, Result};

choices! {
    /// The form of a prediction.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum Prediction {
        /// The class with the largest logit, `int64 [num_nodes]`; with several classes per node, 1 where the logit is
        /// above 0 and 0 elsewhere, `uint8 [num_nodes, classes]`
        @default Classes = "classes",
        /// The probability of each class, `float32 [num_nodes, classes]`
        Probabilities = "probabilities",
        /// The last layer's output, `float32 [num_nodes, outputs]`
        Logits = "logits",
        /// The output of a hidden layer, `float32 [num_nodes, width]`
        Embeddings = "embeddings",
    }
}

choices! {
    /// The order of a prediction's rows.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum NodeOrder {
        /// The ids that nodes have in the partitions
        @default Partition = "partition",
        /// The ids that nodes had before the graph was partitioned
        Original = "original",
    }
}

choices! {
    /// The file formats of predictions.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum PredictionFormat {
        /// NumPy's `.npy`
        Npy = "npy",
        /// A safetensors file with one tensor
        Safetensors = "safetensors",
        /// Text with a line per node: its id or name, and the prediction
        Csv = "csv",
        /// A Parquet file with a row per node: its id or name, and the prediction
        Parquet = "parquet",
    }
}

impl PredictionFormat {
    /// The format that a file's name calls for.
    ///
    /// # Errors
    /// If the name has another extension.
    pub fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.and_then(Self::named).ok_or_else(|| {
            Error::input(path, "", "does not name a format for predictions").with_hint(
                "use the extension .npy, .safetensors, .csv or .parquet, or pass ‹format›",
            )
        })
    }

    /// Whether rows begin with the id or name of their node.
    pub fn is_table(self) -> bool {
        matches!(self, PredictionFormat::Csv | PredictionFormat::Parquet)
    }
}

/// The rows of a prediction as they are stored.
#[derive(Debug, Clone)]
pub(in crate::run) struct StoredForm {
    /// Name of the array.
    pub(in crate::run) name: &'static str,
    /// Element type.
    pub(in crate::run) dtype: Dtype,
    /// Elements of a row, if rows are not single numbers.
    pub(in crate::run) columns: Option<u64>,
}

impl StoredForm {
    /// Size of a row in bytes.
    pub(in crate::run) fn row_bytes(&self) -> usize {
        self.columns.unwrap_or(1) as usize * self.dtype.size()
    }

    /// The header of an array with this number of rows; empty for tables, whose rows follow nothing.
    pub(in crate::run) fn header(&self, format: PredictionFormat, rows: u64) -> Result<Vec<u8>> {
        let shape: Vec<u64> = std::iter::once(rows).chain(self.columns).collect();
        match format {
            PredictionFormat::Npy => npy_header(self.dtype, &shape),
            PredictionFormat::Safetensors => {
                let array = ArraySpec { name: self.name, dtype: self.dtype, shape: &shape };
                safetensors_header(&[array], &BTreeMap::new())
            }
            PredictionFormat::Csv | PredictionFormat::Parquet => Ok(Vec::new()),
        }
    }
}

impl Prediction {
    /// The default form for a task.
    pub fn usual(task: Task) -> Self {
        if task.has_classes() { Prediction::Classes } else { Prediction::Logits }
    }

    /// How rows are stored, if the model's output has `width` columns.
    pub(in crate::run) fn stored(self, task: Task, width: u64) -> StoredForm {
        let (name, dtype, columns) = match (self, task) {
            (Prediction::Classes, Task::Multilabel) => ("classes", Dtype::U8, Some(width)),
            (Prediction::Classes, _) => ("classes", Dtype::I64, None),
            (Prediction::Probabilities, _) => ("probabilities", Dtype::F32, Some(width)),
            (Prediction::Logits, _) => ("logits", Dtype::F32, Some(width)),
            (Prediction::Embeddings, _) => ("embeddings", Dtype::F32, Some(width)),
        };
        StoredForm { name, dtype, columns }
    }

    /// The rows, from the model's output.
    pub(super) fn rows(self, task: Task, output: &Tensor) -> Result<Tensor> {
        let output = output.f_to_kind(Kind::Float)?.f_contiguous()?;
        Ok(match (self, task) {
            (Prediction::Logits | Prediction::Embeddings, _) => output,
            (Prediction::Probabilities, Task::Multilabel) => sigmoid(&output)?,
            (Prediction::Probabilities, _) => output.f_softmax(1, Kind::Float)?,
            (Prediction::Classes, Task::Multilabel) => output.f_gt(0)?.f_to_kind(Kind::Uint8)?,
            (Prediction::Classes, _) => output.f_argmax(1, false)?,
        })
    }
}

/// The sigmoid of each element. (libtorch computes the last elements of a block in another way than the first ones, so its bits
/// would depend on the number of rows.)
fn sigmoid(logits: &Tensor) -> Result<Tensor> {
    let mut values = tensor::empty(&logits.size(), Kind::Float)?;
    let logits = tensor::slice::<f32>(logits);
    for (value, logit) in tensor::slice_mut::<f32>(&mut values).iter_mut().zip(&*logits) {
        *value = 1.0 / (1.0 + (-logit).exp());
    }
    Ok(values)
}

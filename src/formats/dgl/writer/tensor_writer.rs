//! Writes dictionaries of tensors, such as `node_feat.dgl`.

use super::array_writer::ArrayWriter;
use super::output_file::OutputFile;
use crate::formats::dgl::magic;
use crate::io::Dtype;
use crate::words::error::Result;
use std::path::Path;

/// Name, type and shape of one tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorSpec {
    /// Name in the dictionary.
    pub key: String,
    /// Element type. Booleans are stored as `uint8`, as in DGL.
    pub dtype: Dtype,
    /// Sizes of all dimensions.
    pub shape: Vec<u64>,
}

/// A dictionary of tensors that is being written. If it is dropped before [`finish`](Self::finish), the file is
/// removed.
#[derive(Debug)]
pub struct TensorWriter {
    file: OutputFile,
    arrays: Vec<ArrayWriter>,
}

impl TensorWriter {
    /// Starts `path` with tensors in the order of `specs`.
    ///
    /// # Errors
    /// If the file cannot be created or written, or a tensor is too large.
    pub fn create(path: &Path, specs: &[TensorSpec]) -> Result<Self> {
        let mut file = OutputFile::create(path)?;
        let count = specs.len() as u64;
        file.put_u64s(&[magic::TENSOR_FILE, count, count]);
        let mut arrays = Vec::with_capacity(specs.len());
        for spec in specs {
            file.put_text(&spec.key);
            arrays.push(file.array(&spec.key, spec.dtype, &spec.shape)?);
        }
        Ok(TensorWriter { file, arrays })
    }

    /// The same writer; `finish` waits for the disk only if the file is `durable`.
    pub(super) fn durable(self, durable: bool) -> Self {
        TensorWriter { file: self.file.durable(durable), ..self }
    }

    /// The writers of the tensors' elements, in the order of the specs.
    pub fn arrays(&mut self) -> &mut [ArrayWriter] {
        &mut self.arrays
    }

    /// Completes the file.
    ///
    /// # Errors
    /// If elements are missing, or the file cannot be written.
    pub fn finish(self) -> Result<()> {
        self.arrays.into_iter().try_for_each(ArrayWriter::finish)?;
        self.file.finish()
    }
}

//! A file with rows of all ranks' nodes, for scores of pairs of nodes.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use tch::{Kind, Tensor};

use super::own_prediction::{OwnPart, OwnPrediction};
use super::rows;
use crate::engine::comm::{Recipient, barrier, bring_together, is_first_here};
use crate::engine::spill::PointerTensor;
use crate::engine::tensor;
use crate::error::{Error, Result};

/// Rows of `float32` that can be read in any order.
pub(super) struct LinkedRows {
    path: PathBuf,
    file: File,
    pub(super) width: usize,
}

impl LinkedRows {
    /// Writes the rows of this rank's nodes to their places among `num_rows`, and opens the file once all ranks have: two
    /// collectives. Each part has an output.
    pub(super) fn share(
        own: &OwnPrediction<'_>,
        parts: &[OwnPart],
        outputs: &[PointerTensor],
        num_rows: u64,
    ) -> Result<Self> {
        let width = outputs.first().map_or(0, |output| output.size()[1]) as usize;
        let path = own.here.folder.join("linked-rows");
        let file = rows::open_rows(own.here, &path, width * size_of::<f32>())?;
        for (part, output) in parts.iter().zip(outputs) {
            let values = output.pin()?.f_to_kind(Kind::Float)?.f_contiguous()?;
            part.write(own.setup, &file, &values)?;
        }
        let ranks = own.setup.ranks();
        bring_together(&file, Recipient::Everyone, ranks)?;
        if is_first_here(ranks.group) {
            file.finish(num_rows, &[])?;
        }
        // The first rank of each machine has named the file.
        barrier(ranks.group, ranks.hooks)?;
        let file = File::open(&path).map_err(|e| Error::io("open", &path, e))?;
        Ok(LinkedRows { path, file, width })
    }

    /// Some rows, `[rows, width]`.
    pub(super) fn read(&self, rows: impl Iterator<Item = u64>) -> Result<Tensor> {
        let rows: Vec<u64> = rows.collect();
        let mut values = tensor::empty(&[rows.len() as i64, self.width as i64], Kind::Float)?;
        let row_bytes = self.width * size_of::<f32>();
        {
            let mut out = tensor::bytes_mut(&mut values);
            for (row, out) in rows.iter().zip(out.chunks_mut(row_bytes.max(1))) {
                let read = self.file.read_exact_at(out, row * row_bytes as u64);
                read.map_err(|e| Error::io("read", &self.path, e))?;
            }
        }
        Ok(values)
    }
}

//! Files with rows of all ranks' nodes, for scores of pairs of nodes.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use tch::{Kind, Tensor};

use super::own_prediction::{OwnPart, OwnPrediction};
use super::rows;
use super::shared_file::SharedFile;
use crate::engine::comm::{Recipient, barrier, bring_together, is_first_here, share_files};
use crate::engine::spill::PointerTensor;
use crate::engine::tensor;
use crate::words::error::{Error, Result};

/// Rows of `float32` that can be read in any order.
pub(super) struct SharedRows {
    /// Files with consecutive rows.
    files: Vec<(PathBuf, File)>,
    /// First row of each file.
    starts: Vec<u64>,
    pub(super) width: usize,
}

impl SharedRows {
    /// The rows of all nodes whose edges are predicted, by global id: writes those of this rank, and opens the files of all
    /// ranks; one collective. Each part has an output.
    pub(super) fn by_node(own: &OwnPrediction<'_>, outputs: &[PointerTensor]) -> Result<Self> {
        let width = width(outputs);
        let path_of = |rank: usize| own.here.folder.join(format!("node-rows-{rank}"));
        let file = SharedFile::create(&path_of(own.here.rank))?;
        for (part, output) in own.parts.iter().zip(outputs) {
            let values = output.pin()?.f_to_kind(Kind::Float)?.f_contiguous()?;
            let at = part.labelled.first_row as u64 * (width * size_of::<f32>()) as u64;
            file.write(at, &tensor::bytes(&values))?;
        }
        share_files(&path_of, own.setup.ranks())?;
        let ranks = 0..own.setup.group.world_size();
        let book = own.setup.partition.book();
        let starts = ranks.clone().map(|rank| book.node_range(rank).start).collect();
        let files = ranks.map(|rank| open(&path_of(rank))).collect::<Result<_>>()?;
        Ok(SharedRows { files, starts, width })
    }

    /// The rows of the parts' nodes, by their places among `num_rows`: writes those of this rank, and opens the file once all
    /// ranks have; two collectives. Each part has an output.
    pub(super) fn by_place(
        own: &OwnPrediction<'_>,
        parts: &[OwnPart],
        outputs: &[PointerTensor],
        num_rows: u64,
    ) -> Result<Self> {
        let width = width(outputs);
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
        Ok(SharedRows { files: vec![open(&path)?], starts: vec![0], width })
    }

    /// Some rows, `[rows, width]`.
    pub(super) fn read(&self, rows: impl Iterator<Item = u64>) -> Result<Tensor> {
        let rows: Vec<u64> = rows.collect();
        let mut values = tensor::empty(&[rows.len() as i64, self.width as i64], Kind::Float)?;
        let row_bytes = self.width * size_of::<f32>();
        let file_of = |row: u64| self.starts.partition_point(|start| *start <= row) - 1;
        {
            let mut out = &mut tensor::bytes_mut(&mut values)[..];
            let is_next = |a: &u64, b: &u64| a + 1 == *b && file_of(*a) == file_of(*b);
            for run in rows.chunk_by(is_next) {
                let now;
                (now, out) = out.split_at_mut(run.len() * row_bytes);
                let file = file_of(run[0]);
                let (path, open) = &self.files[file];
                let at = (run[0] - self.starts[file]) * row_bytes as u64;
                open.read_exact_at(now, at).map_err(|e| Error::io("read", path, e))?;
            }
        }
        Ok(values)
    }
}

fn width(outputs: &[PointerTensor]) -> usize {
    outputs.first().map_or(0, |output| output.size()[1]) as usize
}

fn open(path: &Path) -> Result<(PathBuf, File)> {
    let file = File::open(path).map_err(|e| Error::io("open", path, e))?;
    Ok((path.to_owned(), file))
}

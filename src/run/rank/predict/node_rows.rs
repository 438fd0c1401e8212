//! Files with the rows of each rank's nodes, for scores of edges.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use tch::{Kind, Tensor};

use super::own_prediction::OwnPrediction;
use super::partners::{create, write};
use crate::engine::comm::share_files;
use crate::engine::spill::PointerTensor;
use crate::engine::tensor;
use crate::error::{Error, Result};
use crate::graph::PartitionBook;

/// Rows of `float32` of all nodes whose edges are predicted, by global id.
pub(super) struct NodeRows<'a> {
    book: &'a PartitionBook,
    files: Vec<(PathBuf, File)>,
    pub(super) width: usize,
}

impl<'a> NodeRows<'a> {
    /// Writes the rows of this rank's nodes, and opens the files of all ranks; one collective. Each part has an output.
    pub(super) fn share(own: &'a OwnPrediction<'_>, outputs: &[PointerTensor]) -> Result<Self> {
        let width = outputs.first().map_or(0, |output| output.size()[1]) as usize;
        let path_of = |rank: usize| own.here.folder.join(format!("node-rows-{rank}"));
        let path = path_of(own.here.rank);
        let file = create(&path)?;
        for (part, output) in own.parts.iter().zip(outputs) {
            let values = output.pin()?.f_to_kind(Kind::Float)?.f_contiguous()?;
            let at = part.labelled.first_row as u64 * (width * size_of::<f32>()) as u64;
            write(&file, &path, at, &tensor::bytes(&values))?;
        }
        share_files(&path_of, own.setup.ranks())?;
        let open = |rank| {
            let path = path_of(rank);
            let file = File::open(&path).map_err(|e| Error::io("open", &path, e))?;
            Ok((path, file))
        };
        let files = (0..own.setup.group.world_size()).map(open).collect::<Result<_>>()?;
        Ok(NodeRows { book: own.setup.partition.book(), files, width })
    }

    /// The rows of some nodes, `[nodes, width]`.
    pub(super) fn read(&self, nodes: impl Iterator<Item = u64>) -> Result<Tensor> {
        let nodes: Vec<u64> = nodes.collect();
        let shape = [nodes.len() as i64, self.width as i64];
        let mut values = tensor::empty(&shape, Kind::Float)?;
        let row_bytes = self.width * size_of::<f32>();
        {
            let mut out = tensor::bytes_mut(&mut values);
            for (node, out) in nodes.iter().zip(out.chunks_mut(row_bytes.max(1))) {
                let owner = self.book.owner(*node)?;
                let (path, file) = &self.files[owner];
                let row = node - self.book.node_range(owner).start;
                let read = file.read_exact_at(out, row * row_bytes as u64);
                read.map_err(|e| Error::io("read", path, e))?;
            }
        }
        Ok(values)
    }
}

//! Inputs of a model for a rank's labelled nodes, on disk.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use tch::{Kind, Tensor};

use super::batch_model::{BatchForward, BatchModel};
use super::graph_batches::{GraphBatch, block_graphs, track_rows};
use crate::engine::spill::{PartitionDataManager, PointerTensor};
use crate::engine::tape::ParameterSet;
use crate::engine::tensor;
use crate::io::{IoCounters, Storage, StorageFile, read_ranges};
use crate::load::{RowBytes, RowCounters};
use crate::nn::Model;
use crate::sampling::loaders::MiniBatch;
use crate::sampling::stores::GraphSource;
use crate::words::error::{Error, Result};

/// Number of values that are written at a time.
const BLOCK: usize = 1 << 18;

/// Rows of some of a rank's nodes in a file. Batches read the rows of their nodes, an evaluation reads all.
pub struct InputRows {
    file: Arc<InputFile>,
    /// Global ids of the nodes, ascending.
    nodes: Vec<u64>,
    bytes: RowCounters,
}

/// A matrix of `float32` on disk, in native byte order: the file never leaves the machine.
struct InputFile {
    path: PathBuf,
    file: Box<dyn StorageFile>,
    rows: usize,
    width: usize,
    counters: IoCounters,
}

impl InputRows {
    /// Writes `rows` into a new file, which the caller removes. `nodes` are their global ids, ascending.
    ///
    /// # Errors
    /// If the file cannot be written (`Io`, `OutOfDisk`).
    pub fn create(
        path: &Path,
        storage: &dyn Storage,
        counters: &IoCounters,
        nodes: Vec<u64>,
        rows: &Tensor,
    ) -> Result<Self> {
        let rows = rows.f_to_kind(Kind::Float)?.f_contiguous()?;
        let mut file = storage.create(path).map_err(|e| Error::io("create", path, e))?;
        let failed = |e| Error::io("write", path, e);
        for values in tensor::slice::<f32>(&rows).chunks(BLOCK) {
            let bytes = bytemuck::cast_slice(values);
            file.write(bytes).map_err(failed)?;
            counters.wrote(bytes.len() as u64);
        }
        let file = InputFile {
            path: path.to_owned(),
            file: file.finish().map_err(failed)?,
            rows: nodes.len(),
            width: rows.size()[1] as usize,
            counters: counters.clone(),
        };
        Ok(InputRows { file: Arc::new(file), nodes, bytes: RowCounters::default() })
    }

    /// All rows, which are read whenever they are used.
    pub fn all(&self, manager: &PartitionDataManager) -> PointerTensor {
        let file = self.file.clone();
        let size = [file.rows as i64, file.width as i64];
        manager.track_recipe("inputs", &size, Kind::Float, None, Rc::new(move || file.all()))
    }

    /// Reads the rows of nodes, in any order.
    ///
    /// # Errors
    /// If the file has no row of a node, or cannot be read (`Io`).
    pub fn of_nodes(&self, nodes: &[u64]) -> Result<Tensor> {
        let place = |(node, to): (&u64, usize)| match self.nodes.binary_search(node) {
            Ok(row) => Ok((row, to)),
            Err(_) => Err(Error::internal(format!("no input of node {node} is stored"))),
        };
        let mut places =
            nodes.iter().zip(0..).map(place).collect::<Result<Vec<(usize, usize)>>>()?;
        places.sort_unstable();
        let (rows, read) = self.file.rows(&places)?;
        self.bytes.needed((nodes.len() * self.file.row_bytes()) as u64);
        self.bytes.read(read);
        Ok(rows)
    }
}

impl InputFile {
    fn row_bytes(&self) -> usize {
        self.width * size_of::<f32>()
    }

    /// Reads rows, ascending, each paired with its row in the result; also returns the number of bytes read.
    fn rows(&self, places: &[(usize, usize)]) -> Result<(Tensor, u64)> {
        let mut rows = tensor::empty(&[places.len() as i64, self.width as i64], Kind::Float)?;
        let bytes = self.row_bytes() as u64;
        let range = |i: usize| {
            let begin = places[i].0 as u64 * bytes;
            begin..begin + bytes
        };
        let read = {
            let mut out = tensor::slice_mut::<f32>(&mut rows);
            read_ranges(&*self.file, places.len(), range, |i, row| {
                let to = &mut out[places[i].1 * self.width..][..self.width];
                bytemuck::cast_slice_mut(to).copy_from_slice(row);
            })
        };
        let read = read.map_err(|e| Error::io("read", &self.path, e))?;
        self.counters.read(read);
        Ok((rows, read))
    }

    fn all(&self) -> Result<Tensor> {
        let mut rows = tensor::empty(&[self.rows as i64, self.width as i64], Kind::Float)?;
        {
            let mut out = tensor::slice_mut::<f32>(&mut rows);
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut out);
            let read = self.file.read_exact_at(bytes, 0);
            read.map_err(|e| Error::io("read", &self.path, e))?;
            self.counters.read(bytes.len() as u64);
        }
        Ok(rows)
    }
}

/// A model that needs no neighbours, on batches of nodes whose inputs are [stored](InputRows).
pub struct RowBatches<'a> {
    /// The model.
    pub model: &'a dyn Model,
    /// The inputs of the nodes.
    pub inputs: &'a InputRows,
}

impl BatchModel for RowBatches<'_> {
    fn take_up<'b>(
        &'b self,
        manager: &Rc<PartitionDataManager>,
        parameters: &ParameterSet,
        graph: &dyn GraphSource,
        batch: &MiniBatch,
    ) -> Result<Box<dyn BatchForward + 'b>> {
        let features = track_rows(manager, parameters, &self.inputs.of_nodes(batch.seeds())?)?;
        let graphs = block_graphs(manager, graph, batch, false)?;
        Ok(GraphBatch::of(self.model, graphs, features))
    }

    fn row_bytes(&self) -> RowBytes {
        self.inputs.bytes.totals()
    }
}

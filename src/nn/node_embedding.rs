//! Learned rows for nodes that have no features.

use std::path::Path;
use std::rc::Rc;

use tch::{Kind, Tensor};

use super::embedding_file;
use super::optim::{Optimizer, OptimizerConfig};
use crate::comm::{ProcessGroup, barrier};
use crate::error::Result;
use crate::kernels::uniform_rows;
use crate::spill::PartitionDataManager;
use crate::tape::{Gradients, Init, Parameter, ParameterBuilder, ParameterSet, Tape, Var};
use crate::tensor::{self, with_real};

/// A learned row for every node of a type. A rank owns the rows of its own nodes, and updates them itself: unlike weights
/// they are neither gathered nor sent.
pub struct NodeEmbedding {
    rows: Rc<ParameterSet>,
    weight: Parameter,
    nodes: EmbeddedNodes,
    manager: Rc<PartitionDataManager>,
    optimizer: Optimizer,
}

/// The nodes that rows are made for.
#[derive(Debug, Clone, Copy)]
pub struct EmbeddedNodes {
    /// Where this rank's nodes begin among all nodes of the type.
    pub first: u64,
    /// How many of them this rank owns.
    pub own: usize,
    /// How many there are on all ranks.
    pub total: u64,
}

impl NodeEmbedding {
    /// Makes rows of this width. They start uniform in ±√2·√(6 / (total + width)), as `torch.nn.init.xavier_uniform_` with
    /// the gain of a ReLU makes them in DGL's examples; a node's row depends on `seed` and the node alone.
    ///
    /// # Errors
    /// If the optimizer's constants make no sense.
    pub fn new(
        manager: &Rc<PartitionDataManager>,
        nodes: EmbeddedNodes,
        (width, kind): (i64, Kind),
        seed: u64,
        optimizer: OptimizerConfig,
    ) -> Result<Self> {
        let EmbeddedNodes { first, own, total } = nodes;
        let mut builder = ParameterBuilder::new(seed);
        let weight = builder.add("weight", &[own as i64, width], Init::Zeros);
        let rows = Rc::new(builder.finish(manager, kind)?);
        let mut start = tensor::copy(&*rows.flat().pin()?)?;
        let bound = (12.0 / (total as f64 + width as f64)).sqrt();
        with_real!(kind, T => {
            let used = own * width as usize;
            let values = &mut tensor::slice_mut::<T>(&mut start)[..used];
            uniform_rows(seed, bound, (first, width as usize), values);
            Ok(())
        })?;
        rows.set_flat(start)?;
        let optimizer = Optimizer::new(optimizer, manager)?;
        Ok(NodeEmbedding { rows, weight, nodes, manager: manager.clone(), optimizer })
    }

    /// The rows as an input of a model, `[own nodes, width]`.
    pub fn input(&self, tape: &mut Tape<'_>) -> Var {
        tape.learned_input(&self.rows, self.weight)
    }

    /// Updates the rows that `input` gave with their gradient.
    pub fn update(&mut self, input: &Var, gradients: &Gradients) -> Result<()> {
        let flat = tensor::zeros(self.rows.flat().size(), self.rows.kind())?;
        if let Some(gradient) = gradients.input(input) {
            self.rows.view(&flat, self.weight)?.f_copy_(&*gradient.pin()?)?;
        }
        self.optimizer.step(&self.rows, flat)
    }

    /// Saves the rows of all ranks in one safetensors file, `embeds.<ntype>.weight`, `float32 [nodes of the type, width]` in
    /// the order of the partitions; all ranks call this. Two collectives.
    pub fn save(&self, path: &Path, ntype: &str, group: &dyn ProcessGroup) -> Result<()> {
        let file = embedding_file::create(path, ntype, self.shape())?;
        {
            let rows = self.rows()?.f_to_kind(Kind::Float)?.f_contiguous()?;
            file.write_rows(self.nodes.first, tensor::bytes(&rows))?;
        }
        barrier(group, &*self.manager)?;
        if group.rank() == 0 {
            file.finish(self.nodes.total, &[])?;
        }
        barrier(group, &*self.manager)
    }

    /// Replaces the rows by those of a file that [`save`](NodeEmbedding::save) wrote; only this rank's are read.
    ///
    /// # Errors
    /// If the file cannot be read or is of other nodes or another width.
    pub fn load(&self, path: &Path, ntype: &str) -> Result<()> {
        let own = (self.nodes.first, self.nodes.own);
        let rows = embedding_file::read_rows(path, ntype, self.shape(), own)?;
        let flat = tensor::copy(&*self.rows.flat().pin()?)?;
        self.rows.view(&flat, self.weight)?.f_copy_(&rows)?;
        self.rows.set_flat(flat)
    }

    fn shape(&self) -> [u64; 2] {
        [self.nodes.total, self.rows.shape(self.weight)[1] as u64]
    }

    /// The rows, `[own nodes, width]`. They share memory with the embedding: drop them before the next collective.
    pub fn rows(&self) -> Result<Tensor> {
        self.rows.value(self.weight)
    }
}

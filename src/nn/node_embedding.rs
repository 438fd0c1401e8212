//! Learned rows for nodes without features.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use tch::{Kind, Tensor};

use super::learned_rows::LearnedRows;
use super::weights::state_dict::{load_rows, open, save_state_dict};
use crate::engine::comm::{ProcessGroup, Ranks};
use crate::engine::spill::PartitionDataManager;
use crate::engine::tape::{Gradients, Parameter, ParameterBuilder, ParameterSet, Tape, Var};
use crate::engine::tensor;
use crate::engine::tensor::with_real;
use crate::graph::TypeNodes;
use crate::kernels::{Real, uniform_rows};
use crate::words::error::Result;

/// Learned rows of a node type, one per node: the `torch.nn.Embedding` of a type in `dgl.nn.HeteroEmbedding`. A rank
/// owns the rows of its own nodes and updates them; unlike weights, they are neither gathered nor sent.
pub struct NodeEmbedding {
    rows: Rc<ParameterSet>,
    weight: Parameter,
    nodes: TypeNodes,
    manager: Rc<PartitionDataManager>,
}

impl NodeEmbedding {
    /// Creates rows of this width for the nodes of the type `ntype`. Initial values are uniform in ±√2·√(6 / (total +
    /// width)), like `torch.nn.init.xavier_uniform_` with the gain of a ReLU in DGL's examples; a node's row depends
    /// only on `seed` and the node.
    ///
    /// # Errors
    /// If memory for the rows runs out (`Tensor`).
    pub fn new(
        manager: &Rc<PartitionDataManager>,
        ntype: &str,
        nodes: TypeNodes,
        width: i64,
        kind: Kind,
        seed: u64,
    ) -> Result<Self> {
        let TypeNodes { first, own, total } = nodes;
        let mut start = tensor::empty(&[own as i64, width], kind)?;
        with_real!(kind, T => {
            let rows = &mut tensor::slice_mut::<T>(&mut start);
            start_rows(seed, total, first, width as usize, rows);
            Ok(())
        })?;
        let key = format!("embeds.{ntype}.weight");
        let (rows, weight) = ParameterSet::single(manager, &key, &start)?;
        Ok(NodeEmbedding { rows: Rc::new(rows), weight, nodes, manager: manager.clone() })
    }

    /// The rows as an input of a model, `[own nodes, width]`.
    pub fn input(&self, tape: &mut Tape<'_>) -> Var {
        tape.learned_input(&self.rows, self.weight)
    }

    /// Gradient of the rows that `input` returned, laid out as [`parameters`](NodeEmbedding::parameters); 0 where the
    /// loss does not depend on them.
    ///
    /// # Errors
    /// If the gradient cannot be read back (`Io`, `Corrupt`).
    pub fn flat_gradient(&self, input: &Var, gradients: &Gradients) -> Result<Tensor> {
        let flat = tensor::zeros(self.rows.flat().size(), self.rows.kind())?;
        if let Some(gradient) = gradients.input(input) {
            self.rows.view(&flat, self.weight)?.f_copy_(&*gradient.pin()?)?;
        }
        Ok(flat)
    }

    /// The rows in the form that an optimizer updates: one parameter, row after row.
    pub fn parameters(&self) -> &ParameterSet {
        &self.rows
    }

    /// Saves the rows of all ranks in one safetensors file, `embeds.<node type>.weight`, `float32 [nodes of the type, width]`
    /// in the order of the partitions; all ranks call this. One collective.
    ///
    /// # Errors
    /// As for [`save_state_dict`].
    pub fn save(&self, path: &Path, group: &dyn ProcessGroup) -> Result<()> {
        let nothing = ParameterBuilder::new(0).finish(&self.manager, self.rows.kind())?;
        save_state_dict(
            path,
            &nothing,
            &[self],
            &BTreeMap::new(),
            Ranks { group, hooks: &*self.manager },
        )
    }

    /// Loads the rows from a safetensors file; reads only this rank's rows.
    ///
    /// # Errors
    /// If the file cannot be read or does not have the rows in this number and width.
    pub fn load(&self, path: &Path) -> Result<()> {
        load_rows(&open(path)?, self)
    }
}

impl LearnedRows for NodeEmbedding {
    fn key(&self) -> &str {
        self.rows.name(self.weight)
    }

    fn nodes(&self) -> TypeNodes {
        self.nodes
    }

    fn width(&self) -> i64 {
        self.rows.shape(self.weight)[1]
    }

    fn rows(&self) -> Result<Tensor> {
        self.rows.value(self.weight)
    }

    fn set_rows(&self, rows: &Tensor) -> Result<()> {
        let flat = tensor::copy(&*self.rows.flat().pin()?)?;
        self.rows.view(&flat, self.weight)?.f_copy_(rows)?;
        self.rows.set_flat(flat)
    }
}

/// Writes the initial values of rows `first`, `first + 1`, ... of `total` rows; see [`NodeEmbedding::new`].
pub(crate) fn start_rows<T: Real>(seed: u64, total: u64, first: u64, width: usize, rows: &mut [T]) {
    let bound = (12.0 / (total as f64 + width as f64)).sqrt();
    uniform_rows(seed, bound, first, width, rows);
}

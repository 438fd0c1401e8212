//! Learned rows that stay on disk.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use tch::{Kind, Tensor};

use crate::engine::comm::{ProcessGroup, Ranks, barrier, is_first_here};
use crate::engine::spill::PartitionDataManager;
use crate::engine::tape::{Tape, Var};
use crate::engine::tensor;
use crate::error::{Error, Result};
use crate::graph::{PartitionBook, TypeNodes};
use crate::nn::{LearnedRows, start_rows};
use crate::sampling::stores::{
    Adam, DistEmbedding, DistTensor, DistTensorConfig, PartitionPolicy, SparseAdam,
};

/// Learned rows of a node type without features, for training on samples: a [`DistEmbedding`], of which a step reads
/// and updates the rows in its batch, and the state of its [`SparseAdam`].
pub struct StoredRows {
    key: String,
    nodes: TypeNodes,
    weight: DistTensor<f32>,
    /// State tensors, in the order of [`SparseOptimizer::states`](crate::sampling::stores::SparseOptimizer::states).
    states: Vec<DistTensor<f32>>,
    manager: Rc<PartitionDataManager>,
}

/// Creates [`StoredRows`] for these node types (id, and seed of initial values), and their optimizer. Files are in
/// `folder`, which the caller removes. Two collectives.
///
/// # Errors
/// If a file cannot be created.
pub fn stored_rows(
    manager: &Rc<PartitionDataManager>,
    group: &dyn ProcessGroup,
    book: &Arc<PartitionBook>,
    ntypes: &[(usize, u64)],
    folder: &Path,
    width: usize,
) -> Result<(Vec<StoredRows>, SparseAdam)> {
    let ranks = Ranks { group, hooks: &**manager };
    let make = |ntype: usize, seed: u64, create: bool| {
        let name = format!("embedding-{ntype}");
        let policy = PartitionPolicy::Nodes(ntype);
        let row_shape = &[width];
        let config =
            DistTensorConfig { folder, name: Some(&name), row_shape, policy, persistent: false };
        if !create {
            return DistEmbedding::open(book, &config);
        }
        let total = book.num_nodes_of_type(ntype);
        DistEmbedding::create(book, &config, |first, rows| {
            start_rows::<f32>(seed, total, first, width, rows);
        })
    };
    let all = |create: bool| -> Result<Vec<DistEmbedding>> {
        ntypes.iter().map(|(ntype, seed)| make(*ntype, *seed, create)).collect()
    };
    let created = if is_first_here(group) { Some(all(true)?) } else { None };
    barrier(group, &**manager)?;
    let embeddings = created.map_or_else(|| all(false), Ok)?;
    // The learning rate is set in each step.
    let optimizer = SparseAdam::new(embeddings, Adam::new(0.0), ranks)?;
    let rows = ntypes.iter().enumerate().map(|(i, (ntype, _))| StoredRows {
        key: format!("embeds.{}.weight", book.ntypes()[*ntype]),
        nodes: book.type_nodes(group.rank(), *ntype),
        weight: optimizer.embeddings()[i].weight().clone(),
        states: optimizer.states(i).to_vec(),
        manager: manager.clone(),
    });
    Ok((rows.collect(), optimizer))
}

impl StoredRows {
    /// The rows of own nodes as input of an evaluation on the full graph; they are read when they are used.
    pub fn input(&self, tape: &mut Tape<'_>) -> Var {
        let (weight, nodes) = (self.weight.clone(), self.nodes);
        let layout = ([nodes.own as i64, weight.width() as i64], Kind::Float);
        let recipe = Rc::new(move || own_rows(&weight, nodes));
        let rows = self.manager.track_recipe("learned-rows", &layout.0, layout.1, None, recipe);
        tape.input(&rows)
    }

    /// Sends the rows of own nodes to other machines, if there are any. One collective.
    pub(super) fn send(&self, ranks: Ranks<'_>) -> Result<()> {
        let TypeNodes { first, own, .. } = self.nodes;
        self.weight.send_own_rows(first..first + own as u64, ranks)
    }

    /// Reads rows by type-wise ids, `[ids.len(), width]`.
    pub(super) fn lookup(&self, ids: &[u64]) -> Result<Tensor> {
        let rows = self.weight.read(ids)?;
        let size = [ids.len() as i64, self.weight.width() as i64];
        self.manager.store().counters().read(size_of_val(&rows[..]) as u64);
        Ok(Tensor::f_from_slice(&rows)?.f_view(size)?)
    }

    /// Records that this rank has updated `rows` rows.
    pub(super) fn count_updates(&self, rows: u64) {
        let elements: usize =
            self.weight.width() + self.states.iter().map(DistTensor::width).sum::<usize>();
        let bytes = rows * (elements * size_of::<f32>()) as u64;
        let counters = self.manager.store().counters();
        counters.read(bytes);
        counters.wrote(bytes);
    }

    /// The optimizer's state, with names of its tensors in checkpoints.
    pub(super) fn states(&self) -> impl Iterator<Item = (&'static str, StoredState)> + '_ {
        let names = ["optimizer.step", "optimizer.first", "optimizer.second"];
        let state = |tensor: &DistTensor<f32>| StoredState(tensor.clone(), self.nodes);
        names.into_iter().zip(self.states.iter().map(state))
    }
}

/// A state tensor, and the range of this rank's own nodes.
pub(super) struct StoredState(DistTensor<f32>, TypeNodes);

impl StoredState {
    pub(super) fn width(&self) -> i64 {
        self.0.width() as i64
    }

    pub(super) fn rows(&self) -> Result<Tensor> {
        own_rows(&self.0, self.1)
    }

    pub(super) fn set_rows(&self, rows: &Tensor) -> Result<()> {
        set_own_rows(&self.0, self.1, rows)
    }
}

impl LearnedRows for StoredRows {
    fn key(&self) -> &str {
        &self.key
    }

    fn nodes(&self) -> TypeNodes {
        self.nodes
    }

    fn width(&self) -> i64 {
        self.weight.width() as i64
    }

    fn rows(&self) -> Result<Tensor> {
        own_rows(&self.weight, self.nodes)
    }

    fn set_rows(&self, rows: &Tensor) -> Result<()> {
        set_own_rows(&self.weight, self.nodes, rows)
    }
}

fn own_rows(tensor: &DistTensor<f32>, nodes: TypeNodes) -> Result<Tensor> {
    let mut rows = tensor::empty(&[nodes.own as i64, tensor.width() as i64], Kind::Float)?;
    tensor.read_from(nodes.first, &mut tensor::slice_mut(&mut rows))?;
    Ok(rows)
}

fn set_own_rows(tensor: &DistTensor<f32>, nodes: TypeNodes, rows: &Tensor) -> Result<()> {
    let rows = rows.f_to_kind(Kind::Float)?.f_contiguous()?;
    if rows.numel() != nodes.own * tensor.width() {
        let problem = format!("{:?} are not the rows of {} nodes", rows.size(), nodes.own);
        return Err(Error::internal(problem));
    }
    tensor.write_from(nodes.first, &tensor::slice(&rows))
}

//! Learned rows that stay on disk.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use tch::{Kind, Tensor};

use crate::engine::comm::{ProcessGroup, Ranks, barrier, is_first_here};
use crate::engine::spill::PartitionDataManager;
use crate::engine::tape::{Tape, Var};
use crate::engine::tensor;
use crate::graph::{PartitionBook, TypeNodes};
use crate::nn::{LearnedRows, start_rows};
use crate::sampling::stores::{
    Adam, DistEmbedding, DistTensor, DistTensorConfig, PartitionPolicy, SparseAdam,
};
use crate::words::error::{Error, Result};

/// Learned rows of a node type without features, for training on samples: a [`DistEmbedding`], of which a step reads
/// and updates the rows in its batch, and the state of its [`SparseAdam`].
pub struct StoredRows {
    key: String,
    weight: OwnRows,
    /// State tensors, in the order of [`SparseOptimizer::states`](crate::sampling::stores::SparseOptimizer::states).
    states: Vec<OwnRows>,
    manager: Rc<PartitionDataManager>,
}

/// A tensor on disk, with the range of this rank's own nodes.
#[derive(Clone)]
pub(super) struct OwnRows {
    tensor: DistTensor<f32>,
    nodes: TypeNodes,
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
    let rows = ntypes.iter().enumerate().map(|(i, (ntype, _))| {
        let nodes = book.type_nodes(group.rank(), *ntype);
        let own = |tensor: &DistTensor<f32>| OwnRows { tensor: tensor.clone(), nodes };
        StoredRows {
            key: format!("embeds.{}.weight", book.ntypes()[*ntype]),
            weight: own(optimizer.embeddings()[i].weight()),
            states: optimizer.states(i).iter().map(own).collect(),
            manager: manager.clone(),
        }
    });
    Ok((rows.collect(), optimizer))
}

impl StoredRows {
    /// The rows of own nodes as input of an evaluation on the full graph; they are read when they are used.
    pub fn input(&self, tape: &mut Tape<'_>) -> Var {
        let weight = self.weight.clone();
        let layout = ([weight.nodes.own as i64, weight.width()], Kind::Float);
        let recipe = Rc::new(move || weight.rows());
        let rows = self.manager.track_recipe("learned-rows", &layout.0, layout.1, None, recipe);
        tape.input(&rows)
    }

    /// Sends the rows of own nodes to other machines, if there are any. One collective.
    pub(super) fn send(&self, ranks: Ranks<'_>) -> Result<()> {
        self.weight.tensor.send_own_rows(ranks)
    }

    /// Reads rows by type-wise ids, `[ids.len(), width]`.
    pub(super) fn lookup(&self, ids: &[u64]) -> Result<Tensor> {
        let rows = self.weight.tensor.read(ids)?;
        let size = [ids.len() as i64, self.weight.width()];
        self.manager.store().counters().read(size_of_val(&rows[..]) as u64);
        Ok(Tensor::f_from_slice(&rows)?.f_view(size)?)
    }

    /// Records that this rank has updated `rows` rows.
    pub(super) fn count_updates(&self, rows: u64) {
        let tensors = std::iter::once(&self.weight).chain(&self.states);
        let elements: usize = tensors.map(|rows| rows.tensor.width()).sum();
        let bytes = rows * (elements * size_of::<f32>()) as u64;
        let counters = self.manager.store().counters();
        counters.read(bytes);
        counters.wrote(bytes);
    }

    /// The optimizer's state, with names of its tensors in checkpoints.
    pub(super) fn states(&self) -> impl Iterator<Item = (&'static str, &OwnRows)> {
        let names = ["optimizer.step", "optimizer.first", "optimizer.second"];
        names.into_iter().zip(&self.states)
    }
}

impl OwnRows {
    pub(super) fn width(&self) -> i64 {
        self.tensor.width() as i64
    }

    pub(super) fn rows(&self) -> Result<Tensor> {
        let mut rows = tensor::empty(&[self.nodes.own as i64, self.width()], Kind::Float)?;
        self.tensor.read_from(self.nodes.first, &mut tensor::slice_mut(&mut rows))?;
        Ok(rows)
    }

    pub(super) fn set_rows(&self, rows: &Tensor) -> Result<()> {
        let OwnRows { tensor, nodes } = self;
        let rows = rows.f_to_kind(Kind::Float)?.f_contiguous()?;
        if rows.numel() != nodes.own * tensor.width() {
            let problem = format!("{:?} are not the rows of {} nodes", rows.size(), nodes.own);
            return Err(Error::internal(problem));
        }
        tensor.write_from(nodes.first, &tensor::slice(&rows))
    }
}

impl LearnedRows for StoredRows {
    fn key(&self) -> &str {
        &self.key
    }

    fn nodes(&self) -> TypeNodes {
        self.weight.nodes
    }

    fn width(&self) -> i64 {
        self.weight.width()
    }

    fn rows(&self) -> Result<Tensor> {
        self.weight.rows()
    }

    fn set_rows(&self, rows: &Tensor) -> Result<()> {
        self.weight.set_rows(rows)
    }
}

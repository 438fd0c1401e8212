//! Optimizers that update only the rows used in a step.

use std::collections::HashSet;
use std::path::Path;

use tch::{Kind, Tensor};

use super::dist_embedding::DistEmbedding;
use super::dist_tensor::{DistTensor, DistTensorConfig};
use super::sparse_rule::{Adagrad, Adam, SparseRule};
use crate::engine::comm::{Ranks, barrier, exchange_tensors, is_first_here};
use crate::engine::tensor;
use crate::error::{Error, Result};

/// DGL's `SparseAdagrad`; its state is the tensor `<name>_sum`.
pub type SparseAdagrad = SparseOptimizer<Adagrad>;
/// DGL's `SparseAdam`; its state consists of the tensors `<name>_step`, `<name>_mem` and `<name>_power`.
pub type SparseAdam = SparseOptimizer<Adam>;

/// An optimizer of [`DistEmbedding`]s. If a row is used several times in a step, by any ranks, its gradients are
/// averaged. State is stored next to the embedding.
pub struct SparseOptimizer<R> {
    rule: R,
    embeddings: Vec<DistEmbedding>,
    /// The rule's state tensors, by embedding.
    states: Vec<Vec<DistTensor<f32>>>,
}

impl<R: SparseRule> SparseOptimizer<R> {
    /// An optimizer before its first step. Rank 0 (on several machines, the first rank of each) creates the state in
    /// the embeddings' folders; one collective.
    ///
    /// # Errors
    /// If two embeddings have the same name, or the state cannot be created.
    pub fn new(
        embeddings: Vec<DistEmbedding>,
        rule: R,
        Ranks { group, hooks }: Ranks<'_>,
    ) -> Result<Self> {
        let mut names = HashSet::new();
        if let Some(twice) = embeddings.iter().find(|e| !names.insert(e.name())) {
            let problem = format!("{} is registered twice", twice.name());
            return Err(Error::config("embeddings", problem));
        }
        let make = |own: bool| -> Result<Vec<Vec<DistTensor<f32>>>> {
            let states = |embedding| {
                R::STATES
                    .iter()
                    .map(move |(suffix, is_wide)| state(embedding, suffix, *is_wide, own))
            };
            embeddings.iter().map(|embedding| states(embedding).collect()).collect()
        };
        let made = if is_first_here(group) { Some(make(true)?) } else { None };
        barrier(group, hooks)?;
        let states = made.map_or_else(|| make(false), Ok)?;
        Ok(SparseOptimizer { rule, embeddings, states })
    }

    /// The embeddings.
    pub fn embeddings(&self) -> &[DistEmbedding] {
        &self.embeddings
    }

    /// The embeddings, for looking up rows and recording gradients.
    pub fn embeddings_mut(&mut self) -> &mut [DistEmbedding] {
        &mut self.embeddings
    }

    /// The update rule with its constants.
    pub fn rule(&self) -> &R {
        &self.rule
    }

    /// The update rule, for changing its constants (such as the learning rate); they must be the same on every rank.
    pub fn rule_mut(&mut self) -> &mut R {
        &mut self.rule
    }

    /// The state tensors of an embedding, in the order of [`SparseRule::STATES`]: DGL's `local_state_dict`.
    pub fn states(&self, embedding: usize) -> &[DistTensor<f32>] {
        &self.states[embedding]
    }

    /// Sends every gradient to the row's owner and updates the rows of this rank's partitions; afterwards every rank
    /// sees the new rows. Returns the number of updated rows per embedding. Two collectives per embedding, and one more
    /// on several machines.
    ///
    /// # Errors
    /// If rows or state cannot be read or written (`Io`, `OutOfDisk`), or the collective fails.
    pub fn step(&mut self, ranks: Ranks<'_>) -> Result<Vec<u64>> {
        let Ranks { group, hooks } = ranks;
        let mut updated = Vec::with_capacity(self.embeddings.len());
        for (embedding, states) in self.embeddings.iter_mut().zip(&self.states) {
            let (ids, gradients) = embedding.take_trace();
            let (ids, gradients) = match group.world_size() {
                1 => (ids, gradients),
                _ => to_owners(embedding, &ids, &gradients, ranks)?,
            };
            let rows = update(&self.rule, embedding, states, &ids, &gradients)?;
            updated.push(rows.len() as u64);
            embedding.weight().send_rows(&rows, ranks)?;
            if group.world_size() > 1 {
                barrier(group, hooks)?;
            }
        }
        Ok(updated)
    }

    /// Drops the gradients recorded since the last step.
    pub fn zero_grad(&mut self) {
        self.embeddings.iter_mut().for_each(DistEmbedding::zero_grad);
    }
}

/// Creates a state tensor (on the rank that owns the files) or opens it.
fn state(
    embedding: &DistEmbedding,
    suffix: &str,
    is_wide: bool,
    own: bool,
) -> Result<DistTensor<f32>> {
    let weight = embedding.weight();
    let config = DistTensorConfig {
        folder: weight.path().parent().unwrap_or(Path::new(".")),
        name: Some(&format!("{}_{suffix}", embedding.name())),
        row_shape: &[if is_wide { weight.width() } else { 1 }],
        policy: weight.policy(),
        persistent: false,
    };
    if own {
        DistTensor::create(weight.book(), &config)
    } else {
        DistTensor::open(weight.book(), &config)
    }
}

/// Rows and gradients that all ranks send to this rank, in the order of ranks.
fn to_owners(
    embedding: &DistEmbedding,
    ids: &[u64],
    gradients: &[f32],
    Ranks { group, hooks }: Ranks<'_>,
) -> Result<(Vec<u64>, Vec<f32>)> {
    let (weight, dim) = (embedding.weight(), embedding.embedding_dim());
    let parts = weight.book().num_parts();
    let ends: Vec<u64> = (0..parts).map(|part| weight.rows_of(part).end).collect();
    let mut sent = vec![(Vec::new(), Vec::new()); group.world_size()];
    for (i, id) in ids.iter().enumerate() {
        let owner = ends.partition_point(|end| end <= id) % group.world_size();
        sent[owner].0.push(*id as i64);
        sent[owner].1.extend_from_slice(&gradients[i * dim..][..dim]);
    }
    let (sent_ids, sent_gradients): (Vec<_>, Vec<_>) = sent.into_iter().unzip();
    let tensors = |ids: &[Vec<i64>]| {
        ids.iter().map(|ids| Tensor::f_from_slice(ids)).collect::<Result<_, _>>()
    };
    let received_ids = exchange_tensors(group, tensors(&sent_ids)?, hooks)?;
    let tensors: Result<_, _> = sent_gradients.iter().map(|g| Tensor::f_from_slice(g)).collect();
    let received = exchange_tensors(group, tensors?, hooks)?;
    let (mut ids, mut all) = (Vec::new(), Vec::new());
    for (of_rank, gradients) in received_ids.iter().zip(&received) {
        ids.extend(tensor::slice::<i64>(of_rank).iter().map(|id| *id as u64));
        all.extend_from_slice(&tensor::slice::<f32>(gradients));
    }
    debug_assert!(received.iter().all(|g| g.kind() == Kind::Float));
    Ok((ids, all))
}

/// Updates each named row with the mean of its gradients; returns the rows, ascending.
fn update(
    rule: &impl SparseRule,
    embedding: &DistEmbedding,
    states: &[DistTensor<f32>],
    ids: &[u64],
    gradients: &[f32],
) -> Result<Vec<u64>> {
    let dim = embedding.embedding_dim();
    let mut order: Vec<u32> = (0..ids.len() as u32).collect();
    order.sort_by_key(|i| ids[*i as usize]);
    let same_row = |a: &u32, b: &u32| ids[*a as usize] == ids[*b as usize];
    let mut rows: Vec<u64> = Vec::new();
    let mut means = Vec::new();
    for same in order.chunk_by(same_row) {
        rows.push(ids[same[0] as usize]);
        let first = means.len();
        means.resize(first + dim, 0.0);
        for i in same {
            let gradient = &gradients[*i as usize * dim..][..dim];
            means[first..].iter_mut().zip(gradient).for_each(|(mean, g)| *mean += g);
        }
        means[first..].iter_mut().for_each(|mean| *mean /= same.len() as f32);
    }
    let mut weights = embedding.lookup(&rows)?;
    let mut values = states.iter().map(|s| s.read(&rows)).collect::<Result<Vec<_>>>()?;
    for i in 0..rows.len() {
        let widths = states.iter().map(DistTensor::width);
        let mut state: Vec<&mut [f32]> =
            values.iter_mut().zip(widths).map(|(v, width)| &mut v[i * width..][..width]).collect();
        let part = i * dim..(i + 1) * dim;
        rule.update(&means[part.clone()], &mut state, &mut weights[part]);
    }
    for (state, values) in states.iter().zip(&values) {
        state.write(&rows, values)?;
    }
    embedding.weight().write(&rows, &weights)?;
    Ok(rows)
}

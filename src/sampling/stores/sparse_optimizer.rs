//! Optimizers that update only the rows used in a step.

use std::collections::HashSet;
use std::path::Path;

use super::dist_embedding::DistEmbedding;
use super::dist_tensor::{DistTensor, DistTensorConfig};
use super::sparse_rule::{Adagrad, Adam, SparseRule};
use crate::engine::comm::{
    Collective, Operation, Posted, ProcessGroup, Ranks, Recipient, barrier, complete_all,
    is_first_here,
};
use crate::words::error::{Error, ErrorKind, Result};

/// Number of rows that are sent or updated at a time, so that copies take little memory.
const ROWS: usize = 1 << 12;

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
    /// sees the new rows. Returns the number of updated rows per embedding. The collectives: one per embedding, which
    /// share a pause; on several machines, one more per embedding; a barrier.
    ///
    /// # Errors
    /// If rows or state cannot be read or written (`Io`, `OutOfDisk`), or the collective fails.
    pub fn step(&mut self, ranks: Ranks<'_>) -> Result<Vec<u64>> {
        let posted = self.post(ranks.group)?;
        let has_posted = !posted.is_empty();
        let updated = self.update(posted, ranks)?;
        if has_posted {
            barrier(ranks.group, ranks.hooks)?;
        }
        Ok(updated)
    }

    /// The first part of a [`step`](Self::step): sends every gradient to the row's owner, without a wait. A rank that is alone
    /// keeps its gradients.
    pub(crate) fn post(&mut self, group: &dyn ProcessGroup) -> Result<Vec<Posted>> {
        if group.world_size() == 1 {
            return Ok(Vec::new());
        }
        self.embeddings.iter_mut().map(|embedding| send(embedding, group)).collect()
    }

    /// The second part of a [`step`](Self::step), without the barrier: another collective must follow before the rows are
    /// read.
    pub(crate) fn update(&mut self, posted: Vec<Posted>, ranks: Ranks<'_>) -> Result<Vec<u64>> {
        let collectives = match posted.len() {
            0 => Vec::new(),
            _ => complete_all(ranks.group, posted, ranks.hooks)?,
        };
        let mut collectives = collectives.iter();
        let mut updated = Vec::with_capacity(self.embeddings.len());
        for (embedding, states) in self.embeddings.iter_mut().zip(&self.states) {
            let (ids, gradients) = match collectives.next() {
                Some(collective) => received(collective, ranks.group, embedding.embedding_dim())?,
                None => embedding.take_trace(),
            };
            updated.push(update(&self.rule, embedding, states, &ids, &gradients)?);
        }
        // All gradients have been read: their messages are removed in the next collective.
        for (embedding, rows) in self.embeddings.iter().zip(&updated) {
            embedding.weight().send_rows(rows, ranks)?;
        }
        Ok(updated.iter().map(|rows| rows.len() as u64).collect())
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
        DistTensor::create(weight.book(), &config).map_err(|e| match e.kind() {
            ErrorKind::Input => e.with_hint("remove it if a killed run has left it there"),
            _ => e,
        })
    } else {
        DistTensor::open(weight.book(), &config)
    }
}

/// Sends the recorded gradients to the owners of their rows: to each rank ids, then gradients.
fn send(embedding: &mut DistEmbedding, group: &dyn ProcessGroup) -> Result<Posted> {
    let (ids, gradients) = embedding.take_trace();
    let (weight, dim) = (embedding.weight(), embedding.embedding_dim());
    let parts = weight.book().num_parts();
    let ends: Vec<u64> = (0..parts).map(|part| weight.rows_of(part).end).collect();
    let mut sent: Vec<Vec<usize>> = vec![Vec::new(); group.world_size()];
    for (place, id) in ids.iter().enumerate() {
        sent[ends.partition_point(|end| end <= id) % group.world_size()].push(place);
    }
    let mut outbox = group.outbox(Operation::ExchangeTensors)?;
    let mut rows: Vec<f32> = Vec::new();
    for (rank, places) in sent.iter().enumerate() {
        outbox.begin(Recipient::Rank(rank))?;
        let of_rank: Vec<u64> = places.iter().map(|place| ids[*place]).collect();
        outbox.write(bytemuck::cast_slice(&of_rank))?;
        for places in places.chunks(ROWS) {
            rows.clear();
            rows.extend(places.iter().flat_map(|i| &gradients[i * dim..][..dim]));
            outbox.write(bytemuck::cast_slice(&rows))?;
        }
    }
    outbox.post()
}

/// Ids and gradients that all ranks have sent to this rank, in the order of ranks.
fn received(
    collective: &Collective,
    group: &dyn ProcessGroup,
    dim: usize,
) -> Result<(Vec<u64>, Vec<f32>)> {
    let inboxes = (0..group.world_size()).map(|from| group.inbox(collective, from));
    let mut inboxes = inboxes.collect::<Result<Vec<_>>>()?;
    let size = size_of::<u64>() + dim * size_of::<f32>();
    let counts: Vec<usize> =
        inboxes.iter().map(|inbox| inbox.remaining() as usize / size).collect();
    let total: usize = counts.iter().sum();
    let (mut ids, mut gradients) = (vec![0_u64; total], vec![0.0_f32; total * dim]);
    let mut first = 0;
    for (inbox, count) in inboxes.iter_mut().zip(counts) {
        inbox.read(bytemuck::cast_slice_mut(&mut ids[first..][..count]))?;
        inbox.read(bytemuck::cast_slice_mut(&mut gradients[first * dim..][..count * dim]))?;
        first += count;
    }
    Ok((ids, gradients))
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
    let uses: Vec<&[u32]> = order.chunk_by(same_row).collect();
    let mut updated = Vec::with_capacity(uses.len());
    let mut mean = vec![0.0_f32; dim];
    for uses in uses.chunks(ROWS) {
        let rows: Vec<u64> = uses.iter().map(|same| ids[same[0] as usize]).collect();
        let mut weights = embedding.lookup(&rows)?;
        let mut values = states.iter().map(|s| s.read(&rows)).collect::<Result<Vec<_>>>()?;
        for (row, same) in uses.iter().enumerate() {
            mean.fill(0.0);
            for i in *same {
                let gradient = &gradients[*i as usize * dim..][..dim];
                mean.iter_mut().zip(gradient).for_each(|(mean, g)| *mean += g);
            }
            for mean in &mut mean {
                *mean /= same.len() as f32;
            }
            let widths = states.iter().map(DistTensor::width);
            let state = values.iter_mut().zip(widths);
            let mut state: Vec<&mut [f32]> =
                state.map(|(values, width)| &mut values[row * width..][..width]).collect();
            rule.update(&mean, &mut state, &mut weights[row * dim..][..dim]);
        }
        for (state, values) in states.iter().zip(&values) {
            state.write(&rows, values)?;
        }
        embedding.weight().write(&rows, &weights)?;
        updated.extend(rows);
    }
    Ok(updated)
}

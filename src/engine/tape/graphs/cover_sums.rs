//! Reduces the rows that ranks send each other for sums along edges, by sending partial sums.

use super::graph::Graph;
use super::graph_shard_manager::GraphShardManager;
use super::partial_sums::PartialSums;
use crate::engine::comm::{Inbox, Operation, Outbox};
use crate::graph::{CoveredEdges, SummedEdges};
use crate::words::error::{Error, Result};

impl GraphShardManager {
    /// Makes later sums along edges send fewer rows between ranks. For each edge, either the source's row is sent, or a
    /// partial sum that the source's owner computes for the destination (SuperGCN's minimum vertex cover of the edges
    /// between two partitions; here a greedy one). This pays off for models that repeatedly sum or average neighbours.
    /// Between two ranks where it would save less than a fifth of the rows, all rows are sent as before. Edge weights
    /// must have their final values. One collective.
    ///
    /// The changed order of additions changes rounding; it depends on the partitions only.
    ///
    /// # Errors
    /// If a message cannot be written or read (`Io`, `OutOfDisk`, `Corrupt`), or the run is being stopped (`Aborted`,
    /// `Interrupted`).
    pub fn cover_sums(&mut self) -> Result<()> {
        let mut shards = self.shards.clone();
        let mut weighted = false;
        let posted = self.exchange.post(Operation::CoverEdges, false, |rank, outbox| {
            let shard = &self.shards[rank];
            let edges = shard.by_dst()?;
            let has_weights = edges.weights.is_some();
            weighted |= has_weights;
            let wanted = match CoveredEdges::of(&edges, &*shard.by_src()?)? {
                None => SentEdges::default(),
                Some(CoveredEdges { sent, received, summed }) => {
                    shards[rank] = self.exchange.manager.track_shard("shard", received);
                    SentEdges { rows: sent, summed }
                }
            };
            wanted.write(has_weights, outbox)
        })?;
        let Some(collective) = self.exchange.complete(posted)? else { return Ok(()) };
        let mut requested = self.requested.clone();
        let mut sums: Vec<_> = shards.iter().map(|_| None).collect();
        for rank in self.exchange.others() {
            let mut inbox = self.exchange.group.inbox(&collective, rank)?;
            let (SentEdges { rows, summed }, has_weights) =
                SentEdges::read(&mut *inbox, &self.requested[rank].pin()?)?;
            weighted |= has_weights;
            if summed.degrees.is_empty() {
                continue;
            }
            requested[rank] = self.exchange.manager.track("requested-rows", rows);
            let (edges, sources) = summed.into_shard(self.num_sources())?;
            sums[rank] = Some(PartialSums {
                edges: self.exchange.manager.track_shard("summed-edges", edges),
                sources: self.exchange.manager.track("summed-rows", sources),
                weighted: has_weights,
            });
        }
        let covered = GraphShardManager {
            exchange: self.exchange.clone(),
            shards,
            sources: Vec::new(),
            requested,
            ends: self.ends.clone(),
            edge_source: None,
            edge_inputs: None,
            covered: None,
            sums,
        };
        self.covered = Some((Box::new(covered), weighted));
        Ok(())
    }
}

/// A request to the owner of sources for rows and for sums over rows; empty if all rows requested so far are sent
/// unchanged. Rows are numbered within those. Message: numbers of rows, sums and summed edges, and whether edges have
/// weights (u64 each); then rows, degrees of the sums, sources (u32 each) and weights of the summed edges (f32 each).
#[derive(Default)]
struct SentEdges {
    rows: Vec<u32>,
    summed: SummedEdges,
}

impl SentEdges {
    fn write(&self, has_weights: bool, outbox: &mut dyn Outbox) -> Result<()> {
        let SentEdges { rows, summed: SummedEdges { degrees, sources, weights } } = self;
        let head = [rows.len(), degrees.len(), sources.len(), usize::from(has_weights)];
        outbox.write(bytemuck::cast_slice(&head.map(|number| number as u64)))?;
        for numbers in [rows, degrees, sources] {
            outbox.write(bytemuck::cast_slice(numbers))?;
        }
        outbox.write(bytemuck::cast_slice(weights.as_deref().unwrap_or_default()))
    }

    /// Decodes the message of a rank that has requested these own rows; also returns whether edges are weighted.
    fn read(inbox: &mut dyn Inbox, requested: &[u32]) -> Result<(Self, bool)> {
        let mut head = [0_u64; 4];
        inbox.read(bytemuck::cast_slice_mut(&mut head))?;
        let [rows, sums, edges, has_weights] = head;
        let weights = if has_weights == 0 { 0 } else { edges };
        if inbox.remaining() != 4 * (rows + sums + edges + weights) {
            return Err(inbox.damaged("its length does not match its edges"));
        }
        let mut numbers = |count: u64| -> Result<Vec<u32>> {
            let mut numbers = vec![0; count as usize];
            inbox.read(bytemuck::cast_slice_mut(&mut numbers))?;
            Ok(numbers)
        };
        let (mut rows, degrees, mut sources) = (numbers(rows)?, numbers(sums)?, numbers(edges)?);
        let bits = numbers(weights)?;
        for row in rows.iter_mut().chain(&mut sources) {
            let unknown = || {
                Error::internal(format!(
                    "a rank asks for row {row} of {} requested rows",
                    requested.len()
                ))
            };
            *row = *requested.get(*row as usize).ok_or_else(unknown)?;
        }
        let weights = bits.into_iter().map(f32::from_bits).collect();
        let weights = (has_weights != 0).then_some(weights);
        let summed = SummedEdges { degrees, sources, weights };
        Ok((SentEdges { rows, summed }, has_weights != 0))
    }
}

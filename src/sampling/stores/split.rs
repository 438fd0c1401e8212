//! Division of nodes or edges among trainers.

use std::ops::Range;

use super::mask::SplitMask;
use super::mt19937::Mt19937;
use crate::graph::PartitionBook;
use crate::words::error::{Error, Result};

/// One of several trainers. Trainers of one partition have consecutive ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrainerRank {
    /// Rank of the trainer.
    pub rank: usize,
    /// Number of trainers: a multiple of the number of partitions.
    pub num_trainers: usize,
}

/// How the chosen nodes or edges are divided among trainers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitBy<'a> {
    /// Every trainer gets the same number of nodes or edges, up to one (DGL's `force_even`, its default). The selected
    /// ones, in ascending order, are cut into one piece per partition; each piece is dealt out at random with the
    /// partition's index as the seed.
    Even,
    /// Like [`Even`](SplitBy::Even), but a piece is dealt out by the trainer that the partitioning assigned to each node or
    /// edge (`trainer_id`, one per node or edge of the type).
    EvenByTrainerId(&'a [u64]),
    /// The trainers of a partition get the partition's own nodes or edges, in consecutive pieces; the last trainer also
    /// gets the remainder.
    Locality,
}

/// Nodes of `trainer` among those that `mask` selects (one truth value per node of the type, or of the graph if no type
/// is given): DGL's `node_split`, with exactly the same ids. Memory holds a piece of the mask and the trainer's nodes.
///
/// # Errors
/// If the mask or the trainer ids have another length, the number of trainers is not a multiple of the number of partitions, or
/// the mask cannot be read.
pub fn node_split<M: SplitMask + ?Sized>(
    mask: &M,
    book: &PartitionBook,
    ntype: Option<&str>,
    trainer: TrainerRank,
    by: SplitBy<'_>,
) -> Result<Vec<u64>> {
    let total = match ntype {
        Some(name) => book.num_nodes_of_type(book.get_ntype_id(name)?),
        None => book.num_nodes(),
    };
    let ids = |numbers: Vec<u64>| match (mask.num_values(), ntype) {
        (None, Some(name)) => book.map_to_homo_nid(&numbers, name),
        _ => Ok(numbers),
    };
    let chosen = Chosen { total, num_values: mask.num_values(), read: &|n| mask.chooses(&ids(n)?) };
    chosen.split(book.num_parts(), trainer, by, |part| book.partid2nids(part, ntype))
}

/// Like [`node_split`], for edges: DGL's `edge_split`.
///
/// # Errors
/// As for [`node_split`].
pub fn edge_split<M: SplitMask + ?Sized>(
    mask: &M,
    book: &PartitionBook,
    etype: Option<&str>,
    trainer: TrainerRank,
    by: SplitBy<'_>,
) -> Result<Vec<u64>> {
    let total = match etype {
        Some(name) => book.num_edges_of_type(book.get_etype_id(name)?),
        None => book.num_edges(),
    };
    let chosen = Chosen { total, num_values: mask.num_values(), read: &|n| mask.chooses(&n) };
    chosen.split(book.num_parts(), trainer, by, |part| book.partid2eids(part, etype))
}

/// Number of mask values read at a time.
const BLOCK: u64 = 1 << 18;

/// The selected numbers among `total` nodes or edges.
struct Chosen<'a> {
    total: u64,
    num_values: Option<u64>,
    read: &'a dyn Fn(Vec<u64>) -> Result<Vec<bool>>,
}

impl Chosen<'_> {
    fn split(
        &self,
        parts: usize,
        TrainerRank { rank, num_trainers }: TrainerRank,
        by: SplitBy<'_>,
        range_of: impl Fn(usize) -> Result<Range<u64>>,
    ) -> Result<Vec<u64>> {
        let total = self.total;
        if let Some(values) = self.num_values.filter(|values| *values != total) {
            let problem = format!("has {values} values for {total} nodes or edges");
            return Err(Error::config("mask", problem));
        }
        if num_trainers == 0 || !num_trainers.is_multiple_of(parts) || rank >= num_trainers {
            let problem = format!(
                "rank {rank} of {num_trainers}: the number of trainers must be a multiple of the {parts} partitions"
            );
            return Err(Error::config("trainer", problem));
        }
        let per_part = num_trainers / parts;
        let (part, place) = (rank / per_part, rank % per_part);
        if by == SplitBy::Locality {
            let own = self.within(range_of(part)?)?;
            let size = own.len() / per_part;
            let end = if place + 1 < per_part { size * (place + 1) } else { own.len() };
            return Ok(own[size * place..end].to_vec());
        }
        let piece = self.piece(parts, part)?;
        match by {
            SplitBy::EvenByTrainerId(ids) if per_part > 1 => {
                by_trainer_id(&piece, ids, part, place, num_trainers, per_part, total)
            }
            _ if per_part > 1 => {
                let order = Mt19937::new(part as u32).permutation(piece.len());
                let mut own = order[even(piece.len(), per_part, place)].to_vec();
                own.sort_unstable();
                Ok(own.into_iter().map(|i| piece[i]).collect())
            }
            _ => Ok(piece),
        }
    }

    /// Selected numbers in a range.
    fn within(&self, range: Range<u64>) -> Result<Vec<u64>> {
        let mut all = Vec::new();
        for block in blocks(range) {
            all.extend(self.of_block(block)?);
        }
        Ok(all)
    }

    /// The `i`-th of `k` equal pieces of all selected numbers, in two passes.
    fn piece(&self, k: usize, i: usize) -> Result<Vec<u64>> {
        let counts = blocks(0..self.total).map(|block| Ok(self.of_block(block)?.len()));
        let counts = counts.collect::<Result<Vec<usize>>>()?;
        let piece = even(counts.iter().sum(), k, i);
        let (mut found, mut before) = (Vec::with_capacity(piece.len()), 0);
        for (block, count) in blocks(0..self.total).zip(counts) {
            let inside = piece.start.max(before)..piece.end.min(before + count);
            if !inside.is_empty() {
                let numbers = self.of_block(block)?;
                found.extend_from_slice(&numbers[inside.start - before..inside.end - before]);
            }
            before += count;
        }
        Ok(found)
    }

    fn of_block(&self, block: Range<u64>) -> Result<Vec<u64>> {
        let values = (self.read)(block.clone().collect())?;
        Ok(block.zip(values).filter(|(_, chosen)| *chosen).map(|(number, _)| number).collect())
    }
}

fn blocks(range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let end = range.end;
    range.step_by(BLOCK as usize).map(move |start| start..(start + BLOCK).min(end))
}

/// The `i`-th of `k` pieces of `0..n` whose lengths differ by at most 1, the longer ones first.
fn even(n: usize, k: usize, i: usize) -> Range<usize> {
    let start = |i: usize| n / k * i + i.min(n % k);
    start(i)..start(i + 1)
}

/// Ids of the piece in the own partition, sorted by trainer, and other ids; each list is cut evenly.
fn by_trainer_id(
    piece: &[u64],
    ids: &[u64],
    part: usize,
    place: usize,
    num_trainers: usize,
    per_part: usize,
    total: u64,
) -> Result<Vec<u64>> {
    if ids.len() as u64 != total {
        let problem = format!("{} ids for {total} nodes or edges", ids.len());
        return Err(Error::config("trainer_id", problem));
    }
    let assigned = ids.iter().max().map_or(0, |highest| highest + 1);
    let mut joined = 1;
    if assigned > num_trainers as u64 {
        if !assigned.is_multiple_of(num_trainers as u64) {
            let problem = format!(
                "{assigned} trainers were assigned, which is not a multiple of {num_trainers}"
            );
            return Err(Error::config("trainer_id", problem));
        }
        joined = assigned / num_trainers as u64;
    }
    let trainer = |id: &u64| ids[*id as usize] / joined;
    let is_local = |id: &u64| trainer(id) / per_part as u64 == part as u64;
    let (mut local, remote): (Vec<u64>, Vec<u64>) = piece.iter().copied().partition(is_local);
    local.sort_by_key(trainer);
    let mut own = local[even(local.len(), per_part, place)].to_vec();
    own.extend_from_slice(&remote[even(remote.len(), per_part, place)]);
    Ok(own)
}

//! The nodes or edges that each trainer works on.

use std::ops::Range;

use super::mt19937::Mt19937;
use crate::error::{Error, Result};
use crate::graph::PartitionBook;

/// One of several trainers. Trainers of the same partition have consecutive ranks.
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
    /// Every trainer gets the same number, or one fewer (DGL's `force_even`, its default): the chosen ones in ascending order
    /// are cut into one piece per partition, and each piece is dealt out at random with the partition's index as the seed.
    Even,
    /// Like [`Even`](SplitBy::Even), but a piece is dealt out by the trainer that the partitioning assigned to each node or
    /// edge (`trainer_id`, one per node or edge of the type).
    EvenByTrainerId(&'a [u64]),
    /// Every partition's trainers get its own nodes or edges, in consecutive pieces; the last trainer also gets the rest.
    Locality,
}

/// The nodes of `trainer` among those that `mask` chooses (one truth value per node of the type, or per node of the graph
/// without a type): DGL's `node_split`, to the last id.
///
/// # Errors
/// If the mask or the trainer ids have another length, or the number of trainers is not a multiple of the number of partitions.
pub fn node_split(
    mask: &[bool],
    book: &PartitionBook,
    ntype: Option<&str>,
    trainer: TrainerRank,
    by: SplitBy<'_>,
) -> Result<Vec<u64>> {
    let total = match ntype {
        Some(name) => book.num_nodes_of_type(book.get_ntype_id(name)?),
        None => book.num_nodes(),
    };
    split(mask, total, book.num_parts(), trainer, by, |part| book.partid2nids(part, ntype))
}

/// Like [`node_split`], for edges: DGL's `edge_split`.
///
/// # Errors
/// As for [`node_split`].
pub fn edge_split(
    mask: &[bool],
    book: &PartitionBook,
    etype: Option<&str>,
    trainer: TrainerRank,
    by: SplitBy<'_>,
) -> Result<Vec<u64>> {
    let total = match etype {
        Some(name) => book.num_edges_of_type(book.get_etype_id(name)?),
        None => book.num_edges(),
    };
    split(mask, total, book.num_parts(), trainer, by, |part| book.partid2eids(part, etype))
}

fn split(
    mask: &[bool],
    total: u64,
    parts: usize,
    TrainerRank { rank, num_trainers }: TrainerRank,
    by: SplitBy<'_>,
    range_of: impl Fn(usize) -> Result<Range<u64>>,
) -> Result<Vec<u64>> {
    if mask.len() as u64 != total {
        let problem = format!("has {} values for {total} nodes or edges", mask.len());
        return Err(Error::config("mask", problem));
    }
    if num_trainers == 0 || !num_trainers.is_multiple_of(parts) || rank >= num_trainers {
        let problem = format!(
            "rank {rank} of {num_trainers}: the number of trainers must be a multiple of the {parts} partitions"
        );
        return Err(Error::config("trainer", problem));
    }
    let (part, place) = (rank / (num_trainers / parts), rank % (num_trainers / parts));
    let per_part = num_trainers / parts;
    let chosen =
        |range: Range<u64>| -> Vec<u64> { range.filter(|id| mask[*id as usize]).collect() };
    if by == SplitBy::Locality {
        let own = chosen(range_of(part)?);
        let size = own.len() / per_part;
        let end = if place + 1 < per_part { size * (place + 1) } else { own.len() };
        return Ok(own[size * place..end].to_vec());
    }
    let count = mask.iter().filter(|chosen| **chosen).count();
    let piece = even(count, parts, part);
    let all = (0..total).filter(|id| mask[*id as usize]);
    let piece: Vec<u64> = all.skip(piece.start).take(piece.len()).collect();
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

/// The `i`-th of `k` pieces of `0..n` whose lengths differ by at most 1, the longer ones first.
fn even(n: usize, k: usize, i: usize) -> Range<usize> {
    let start = |i: usize| n / k * i + i.min(n % k);
    start(i)..start(i + 1)
}

/// The piece's ids that the own partition holds, sorted by trainer, and its other ids, each cut evenly.
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

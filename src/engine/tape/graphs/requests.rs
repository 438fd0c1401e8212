//! Requests for rows of other ranks.

use std::rc::Rc;

use tch::Tensor;

use crate::engine::comm::{ProcessGroup, exchange_tensors};
use crate::engine::spill::{PartitionDataManager, ShardPointer};
use crate::engine::tensor;
use crate::words::error::{Error, Result};

/// All ranks' requests for rows of one rank.
pub(in crate::engine::tape) struct Requests {
    /// Own rows from which each rank has edges, ascending.
    pub(in crate::engine::tape) rows: Vec<Vec<u32>>,
    /// Number of edges of all ranks that start at each own row.
    pub(in crate::engine::tape) out_degrees: Vec<i64>,
}

/// Sends every rank a request for the rows from which this rank's shards have edges, and receives theirs. One
/// collective.
///
/// `sources[q]` are the rows of rank q that the columns of shard q stand for; empty if columns are rows.
pub(in crate::engine::tape) fn exchange_requests(
    manager: &Rc<PartitionDataManager>,
    group: &Rc<dyn ProcessGroup>,
    shards: &[ShardPointer],
    sources: &[Vec<u32>],
    num_sources: usize,
) -> Result<Requests> {
    let pairs = shards.iter().zip(sources);
    let requests = pairs.map(|(shard, sources)| request(shard, sources));
    let requests = requests.collect::<Result<Vec<_>>>()?;
    let mut out_degrees = vec![0_i64; num_sources];
    let received = exchange_tensors(&**group, requests, &**manager)?;
    let received = received.iter().enumerate();
    let rows = received.map(|(rank, request)| asked_rows(rank, request, &mut out_degrees));
    let rows = rows.collect::<Result<_>>()?;
    Ok(Requests { rows, out_degrees })
}

/// This rank's request to a shard's owner: `int64 [2, columns]`, the rows it needs and how many edges each has here.
fn request(shard: &ShardPointer, sources: &[u32]) -> Result<Tensor> {
    let columns = shard.num_sources();
    let mut degree = vec![0_i64; columns];
    let ends = &shard.by_src()?.ends;
    for (i, &row) in ends.rows().iter().enumerate() {
        degree[row as usize] = ends.columns(i).len() as i64;
    }
    let mut values: Vec<i64> = match sources {
        [] => (0..columns as i64).collect(),
        _ => sources.iter().map(|s| i64::from(*s)).collect(),
    };
    values.append(&mut degree);
    Ok(Tensor::f_from_slice(&values)?.f_view([2, columns as i64])?)
}

/// Rows that `rank` requests; adds its edges to `degrees`.
fn asked_rows(rank: usize, request: &Tensor, degrees: &mut [i64]) -> Result<Vec<u32>> {
    let num_sources = degrees.len();
    let values = &tensor::slice::<i64>(request);
    let (rows, counts) = values.split_at(values.len() / 2);
    for (row, count) in rows.iter().zip(counts) {
        let degree = usize::try_from(*row).ok().and_then(|row| degrees.get_mut(row));
        let degree = degree.ok_or_else(|| {
            Error::internal(format!("rank {rank} asks for row {row} of {num_sources}"))
        })?;
        *degree += count;
    }
    Ok(rows.iter().map(|row| *row as u32).collect())
}

//! Collects messages into one row per destination, or into edge values.

use tch::{Device, Kind, Tensor};

use super::aggregate::Reduce;
use super::edge_chunks::add;
use super::rows::gather;
use crate::engine::spill::{PartitionDataManager, PointerTensor};
use crate::engine::tape::graphs::graph::Graph;
use crate::engine::tensor;
use crate::engine::tensor::with_real;
use crate::words::error::{Error, Result};

/// How messages are collected.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::tape) enum Collect {
    /// Into the row of their destination.
    Reduce(Reduce),
    /// Into the row of their edge.
    Each,
}

impl Collect {
    pub(in crate::engine::tape) fn rows(self, graph: &dyn Graph) -> Result<i64> {
        match self {
            Collect::Reduce(_) => Ok(graph.num_destinations() as i64),
            Collect::Each => graph.num_edges(),
        }
    }
}

/// The result while messages come in. Edges are numbered in the order in which their messages come, which is that of edge
/// values.
pub(in crate::engine::tape) struct Collected {
    how: Collect,
    value: Tensor,
    /// For a maximum or minimum: the number of the edge that each element comes from, `int64`, -1 before the first.
    winner: Option<Tensor>,
    edges: i64,
}

/// [`Collected`] during a pause.
pub(in crate::engine::tape) struct PausedCollected {
    how: Collect,
    value: PointerTensor,
    winner: Option<PointerTensor>,
    edges: i64,
}

impl Collected {
    pub(in crate::engine::tape) fn new(how: Collect, size: [i64; 2], kind: Kind) -> Result<Self> {
        let select = matches!(how, Collect::Reduce(Reduce::Max | Reduce::Min));
        let none = || Tensor::f_full(size, -1, (Kind::Int64, Device::Cpu));
        let winner = select.then(none).transpose()?;
        Ok(Collected { how, value: tensor::zeros(&size, kind)?, winner, edges: 0 })
    }

    pub(in crate::engine::tape) fn pause(
        self,
        manager: &PartitionDataManager,
    ) -> Result<PausedCollected> {
        let Collected { how, value, winner, edges } = self;
        let value = manager.track_rows("partial-reduction", value)?;
        let winner = winner.map(|winner| manager.track("winning-edges", winner));
        Ok(PausedCollected { how, value, winner, edges })
    }

    /// Number of edges whose messages have been collected.
    pub(in crate::engine::tape) fn edges(&self) -> i64 {
        self.edges
    }

    /// Adds the messages of the next edges, to these destinations.
    pub(in crate::engine::tape) fn take(&mut self, messages: &Tensor, dst: &[u32]) -> Result<()> {
        if messages.size()[1] != self.value.size()[1] {
            let widths = (messages.size()[1], self.value.size()[1]);
            let problem = format!("returned {} columns, but {} before", widths.0, widths.1);
            return Err(Error::config("message function", problem));
        }
        if self.how != Collect::Each && messages.kind() != self.value.kind() {
            let kinds = (messages.kind(), self.value.kind());
            let problem = format!("returned {:?}, but rows of sources are {:?}", kinds.0, kinds.1);
            return Err(Error::config("message function", problem));
        }
        let first = self.edges;
        self.edges += dst.len() as i64;
        match (self.how, &mut self.winner) {
            (Collect::Each, _) => {
                self.value.f_narrow(0, first, dst.len() as i64)?.f_copy_(messages)?;
                Ok(())
            }
            (Collect::Reduce(reduce), Some(winner)) => {
                let largest = reduce == Reduce::Max;
                select(messages, dst, first, largest, &mut self.value, winner)
            }
            (Collect::Reduce(_), None) => add(messages, dst, &mut self.value),
        }
    }

    /// The result before means are divided by degrees, and the winning edges.
    pub(in crate::engine::tape) fn finish(self) -> (Tensor, Option<Tensor>) {
        (self.value, self.winner)
    }
}

impl PausedCollected {
    pub(in crate::engine::tape) fn resume(self) -> Result<Collected> {
        let PausedCollected { how, value, winner, edges } = self;
        let winner = winner.map(PointerTensor::take).transpose()?;
        Ok(Collected { how, value: value.take()?, winner, edges })
    }
}

/// Replaces values by better messages; of equal ones, the first stays.
fn select(
    messages: &Tensor,
    dst: &[u32],
    first: i64,
    largest: bool,
    value: &mut Tensor,
    winner: &mut Tensor,
) -> Result<()> {
    let width = value.size()[1] as usize;
    let edges = &mut tensor::slice_mut::<i64>(winner);
    with_real!(messages.kind(), T => {
        let values = &mut tensor::slice_mut::<T>(value);
        let messages = tensor::slice::<T>(messages);
        for (i, (&row, messages)) in dst.iter().zip(messages.chunks_exact(width)).enumerate() {
            let place = row as usize * width..(row as usize + 1) * width;
            let row = values[place.clone()].iter_mut().zip(&mut edges[place]);
            for ((value, edge), message) in row.zip(messages) {
                let better = if largest { *message > *value } else { *message < *value };
                if better || *edge < 0 {
                    (*value, *edge) = (*message, first + i as i64);
                }
            }
        }
        Ok(())
    })
}

/// The adjoint: the gradient of the messages of edges numbered from `first`, to these destinations.
pub(in crate::engine::tape) fn message_gradient(
    how: Collect,
    gy: &Tensor,
    winner: Option<&Tensor>,
    dst: &[u32],
    first: i64,
) -> Result<Tensor> {
    if how == Collect::Each {
        return Ok(gy.f_narrow(0, first, dst.len() as i64)?);
    }
    let gradient = gather(gy, dst)?;
    let Some(winner) = winner else { return Ok(gradient) };
    let rows: Vec<i64> = dst.iter().map(|row| i64::from(*row)).collect();
    let winner = winner.f_index_select(0, &Tensor::f_from_slice(&rows)?)?;
    let edges = (first, first + dst.len() as i64, (Kind::Int64, Device::Cpu));
    let edges = Tensor::f_arange_start(edges.0, edges.1, edges.2)?.f_unsqueeze(1)?;
    Ok(gradient.f_mul(&winner.f_eq_tensor(&edges)?)?)
}

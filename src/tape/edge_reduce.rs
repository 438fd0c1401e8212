//! The reduction of messages to one row per destination.

use tch::{Device, Kind, Tensor};

use super::aggregate::Reduce;
use super::edge_chunks::add;
use super::rows::gather;
use crate::error::{Error, Result};
use crate::spill::{PartitionDataManager, PointerTensor};
use crate::tensor::{self, with_real};

/// The destinations' rows while messages come in. Edges are numbered in the order in which their messages come.
pub(super) struct Reduced {
    reduce: Reduce,
    value: Tensor,
    /// Of a maximum or minimum: the number of the edge that each element comes from, `int64`, -1 before the first.
    winner: Option<Tensor>,
    edges: i64,
}

/// [`Reduced`] during a pause.
pub(super) struct PausedReduced {
    reduce: Reduce,
    value: PointerTensor,
    winner: Option<PointerTensor>,
    edges: i64,
}

impl Reduced {
    pub(super) fn new(reduce: Reduce, size: [i64; 2], kind: Kind) -> Result<Self> {
        let select = matches!(reduce, Reduce::Max | Reduce::Min);
        let nobody = || Tensor::f_full(size, -1, (Kind::Int64, Device::Cpu));
        let winner = select.then(nobody).transpose()?;
        Ok(Reduced { reduce, value: tensor::zeros(&size, kind)?, winner, edges: 0 })
    }

    pub(super) fn pause(self, manager: &PartitionDataManager) -> PausedReduced {
        let Reduced { reduce, value, winner, edges } = self;
        let value = manager.track_rows("partial-reduction", value);
        let winner = winner.map(|winner| manager.track("winning-edges", winner));
        PausedReduced { reduce, value, winner, edges }
    }

    /// Takes the messages of the next edges, to these destinations.
    pub(super) fn take(&mut self, messages: &Tensor, dst: &[u32]) -> Result<()> {
        if messages.size()[1] != self.value.size()[1] {
            let widths = (messages.size()[1], self.value.size()[1]);
            let problem = format!("gave {} columns, and {} before", widths.0, widths.1);
            return Err(Error::config("message function", problem));
        }
        let first = self.edges;
        self.edges += dst.len() as i64;
        match &mut self.winner {
            None => add(messages, dst, &mut self.value),
            Some(winner) => {
                let largest = self.reduce == Reduce::Max;
                select(messages, dst, (first, largest), &mut self.value, winner)
            }
        }
    }

    /// The result before means are divided by degrees, and the winning edges.
    pub(super) fn finish(self) -> (Tensor, Option<Tensor>) {
        (self.value, self.winner)
    }
}

impl PausedReduced {
    pub(super) fn resume(self) -> Result<Reduced> {
        let PausedReduced { reduce, value, winner, edges } = self;
        let winner = winner.map(PointerTensor::take).transpose()?;
        Ok(Reduced { reduce, value: value.take()?, winner, edges })
    }
}

/// Lets better messages take the place of what is there; the first of equal ones stays.
fn select(
    messages: &Tensor,
    dst: &[u32],
    (first, largest): (i64, bool),
    value: &mut Tensor,
    winner: &mut Tensor,
) -> Result<()> {
    let width = value.size()[1] as usize;
    let edges = tensor::slice_mut::<i64>(winner);
    with_real!(messages.kind(), T => {
        let values = tensor::slice_mut::<T>(value);
        let messages = tensor::slice::<T>(messages).chunks_exact(width);
        for (i, (&row, messages)) in dst.iter().zip(messages).enumerate() {
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
pub(super) fn message_gradient(
    gy: &Tensor,
    winner: Option<&Tensor>,
    dst: &[u32],
    first: i64,
) -> Result<Tensor> {
    let gradient = gather(gy, dst)?;
    let Some(winner) = winner else { return Ok(gradient) };
    let rows: Vec<i64> = dst.iter().map(|row| i64::from(*row)).collect();
    let winner = winner.f_index_select(0, &Tensor::f_from_slice(&rows)?)?;
    let edges = (first, first + dst.len() as i64, (Kind::Int64, Device::Cpu));
    let edges = Tensor::f_arange_start(edges.0, edges.1, edges.2)?.f_unsqueeze(1)?;
    Ok(gradient.f_mul(&winner.f_eq_tensor(&edges)?)?)
}

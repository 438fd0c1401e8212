//! The exchange of rows between the ranks of a graph.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::row_layout::RowLayout;
use crate::engine::comm::{
    Collective, Operation, Outbox, Posted, ProcessGroup, Recipient, complete,
};
use crate::engine::spill::{PartitionDataManager, write_narrow};
use crate::engine::tape::ops::messages::{Messages, SentRows};
use crate::engine::tensor;
use crate::engine::tensor::with_element;
use crate::event::{Span, SpanKind, span};
use crate::io::Dtype;
use crate::kernels::gather_rows;
use crate::words::error::Result;

/// Number of bytes that are collected before they are written to an outbox.
const CHUNK: usize = 4 << 20;

/// A rank's side of the exchange.
#[derive(Clone)]
pub struct Exchange {
    pub(in crate::engine::tape) manager: Rc<PartitionDataManager>,
    pub(in crate::engine::tape) group: Rc<dyn ProcessGroup>,
}

impl Exchange {
    /// The other ranks, ascending.
    pub(in crate::engine::tape) fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let rank = self.group.rank();
        (0..self.group.world_size()).filter(move |q| *q != rank)
    }

    /// Posts a message for each other rank, which `fill` writes; `None` if there is only one rank. With `keep`, they can be
    /// read again while the collective exists.
    pub(in crate::engine::tape) fn post(
        &self,
        operation: Operation,
        keep: bool,
        mut fill: impl FnMut(usize, &mut dyn Outbox) -> Result<()>,
    ) -> Result<Option<Posted>> {
        if self.group.world_size() == 1 {
            return Ok(None);
        }
        let mut write = || {
            let mut outbox = self.group.outbox(operation)?;
            if keep {
                outbox.keep();
            }
            for rank in self.others() {
                outbox.begin(Recipient::Rank(rank))?;
                fill(rank, &mut *outbox)?;
            }
            Ok(Some(outbox.post()?))
        };
        if keep { self.manager.write_lasting(&mut write) } else { write() }
    }

    /// Completes what this rank has posted, with a pause until all ranks have posted theirs.
    pub(in crate::engine::tape) fn complete(
        &self,
        posted: Option<Posted>,
    ) -> Result<Option<Collective>> {
        posted.map(|posted| complete(&*self.group, posted, &*self.manager)).transpose()
    }

    /// The narrower type in which rows are sent, if there is one: a type that represents them exactly, or bfloat16.
    fn sent_as(&self, rows: &RowLayout) -> Option<Dtype> {
        let rounded = self.manager.held_kind(rows.width as i64, rows.kind) != rows.kind;
        rows.exact.or_else(|| rounded.then_some(Dtype::BF16))
    }

    /// Writes all rows of a part to an outbox.
    pub(in crate::engine::tape) fn write_part(
        &self,
        part: &Tensor,
        outbox: &mut dyn Outbox,
    ) -> Result<()> {
        let width = part.size().iter().skip(1).product::<i64>() as usize;
        match self.sent_as(&RowLayout::new(width, part.kind())) {
            Some(dtype) => write_narrow(&tensor::slice(part), dtype, |bytes| {
                outbox.write_elements(bytes, dtype.size())
            }),
            None => outbox.write_elements(&tensor::bytes(part), part.kind().elt_size_in_bytes()),
        }
    }

    /// Messages of the other ranks, in parts of this layout; rank q sends `rows(q)` rows.
    pub(in crate::engine::tape) fn messages<'m>(
        &'m self,
        collective: &'m Collective,
        rows: impl Fn(usize) -> usize,
        layout: &[RowLayout],
    ) -> Messages<'m> {
        let senders = self.others().map(|rank| (rank, rows(rank)));
        let layout =
            layout.iter().map(|rows| SentRows { rows: *rows, sent_as: self.sent_as(rows) });
        Messages::new(&*self.group, collective, senders, layout.collect())
    }

    /// Writes the given rows of a part of this layout to an outbox, a bounded number at a time.
    pub(in crate::engine::tape) fn write_rows(
        &self,
        part: &Tensor,
        rows: &[u32],
        layout: &RowLayout,
        outbox: &mut dyn Outbox,
    ) -> Result<()> {
        let width = part.size()[1..].iter().product::<i64>() as usize;
        if part.kind() == Kind::Int64 {
            let part = &tensor::slice::<i64>(part);
            return write_chunks(part, width, rows, |rows| {
                outbox.write(bytemuck::cast_slice(rows))
            });
        }
        if let Some(dtype) = self.sent_as(layout) {
            let part = &tensor::slice::<f32>(part);
            return write_chunks(part, width, rows, |rows| {
                write_narrow(rows, dtype, |bytes| outbox.write_elements(bytes, dtype.size()))
            });
        }
        with_element!(part.kind(), T => {
            let part = &tensor::slice::<T>(part);
            write_chunks(part, width, rows, |rows| {
                outbox.write_elements(bytemuck::cast_slice(rows), size_of::<T>())
            })
        })
    }
}

fn write_chunks<T: bytemuck::Pod + Default + Send + Sync>(
    part: &[T],
    width: usize,
    rows: &[u32],
    mut write: impl FnMut(&[T]) -> Result<()>,
) -> Result<()> {
    let rows_at_once = (CHUNK / size_of::<T>() / width.max(1)).max(1);
    let mut buffer = vec![T::default(); rows_at_once.min(rows.len()) * width];
    for rows in rows.chunks(rows_at_once) {
        let chunk = &mut buffer[..rows.len() * width];
        gather_rows(part, width, rows, chunk);
        write(chunk)?;
    }
    Ok(())
}

/// Begins a span of the work on another rank's messages.
pub(super) fn edges_of(rank: usize) -> Span {
    let mut span = span(SpanKind::Operation, "add rows of a rank");
    span.set("from", rank);
    span
}

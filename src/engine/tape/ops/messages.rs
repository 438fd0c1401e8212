//! Messages of other ranks, read one after the other.

use std::collections::VecDeque;
use std::thread::{self, JoinHandle};

use tch::Tensor;

use crate::engine::comm::{Collective, Inbox, ProcessGroup};
use crate::engine::spill::read_narrow;
use crate::engine::tape::graphs::row_layout::RowLayout;
use crate::engine::tensor;
use crate::io::Dtype;
use crate::words::error::{Error, Result};

/// Messages of selected ranks, in order. If they are on a disk, the next one is read while the caller processes the
/// current one.
pub(in crate::engine::tape) struct Messages<'a> {
    group: &'a dyn ProcessGroup,
    collective: &'a Collective,
    layout: Vec<SentRows>,
    /// Remaining ranks, and their numbers of rows.
    left: VecDeque<(usize, usize)>,
    ahead: Option<(usize, Reading)>,
}

/// A part of a message.
#[derive(Clone, Copy)]
pub(in crate::engine::tape) struct SentRows {
    /// Layout in which the rows are needed.
    pub(in crate::engine::tape) rows: RowLayout,
    /// The narrower type of the message, if it has one.
    pub(in crate::engine::tape) sent_as: Option<Dtype>,
}

/// A message: the sender's rank, and its parts, `[rows, width]` each.
type Message = (usize, Vec<Tensor>);

impl<'a> Messages<'a> {
    /// Messages of these ranks, with these numbers of rows and this layout of parts.
    pub(in crate::engine::tape) fn new(
        group: &'a dyn ProcessGroup,
        collective: &'a Collective,
        senders: impl Iterator<Item = (usize, usize)>,
        layout: Vec<SentRows>,
    ) -> Self {
        Messages { group, collective, layout, left: senders.collect(), ahead: None }
    }

    fn start_next(&mut self) -> Result<Option<(usize, Reading)>> {
        let Some((rank, rows)) = self.left.pop_front() else { return Ok(None) };
        let inbox = self.group.inbox(self.collective, rank)?;
        let layout = self.layout.clone();
        let from_disk = inbox.waits_for_disk();
        let read = Box::new(move || read(inbox, rank, rows, &layout));
        if !from_disk {
            return Ok(Some((rank, Reading::Later(read))));
        }
        let thread = thread::Builder::new().name("read-ahead".to_owned()).spawn(read);
        let thread = thread.map_err(|e| Error::no_process("a thread", &e))?;
        Ok(Some((rank, Reading::Ahead(thread))))
    }

    fn message(&mut self) -> Result<Option<Message>> {
        let now = match self.ahead.take() {
            None => self.start_next()?,
            ahead => ahead,
        };
        let Some((rank, reading)) = now else { return Ok(None) };
        let parts = reading.parts()?;
        self.ahead = self.start_next()?;
        Ok(Some((rank, parts)))
    }
}

impl Iterator for Messages<'_> {
    type Item = Result<Message>;

    fn next(&mut self) -> Option<Result<Message>> {
        self.message().transpose()
    }
}

/// A message that is being read, or will be read on demand.
enum Reading {
    Later(Box<dyn FnOnce() -> Result<Vec<Tensor>> + Send>),
    Ahead(JoinHandle<Result<Vec<Tensor>>>),
}

impl Reading {
    fn parts(self) -> Result<Vec<Tensor>> {
        match self {
            Reading::Later(read) => read(),
            Reading::Ahead(thread) => thread
                .join()
                .map_err(|_| Error::internal("the thread that reads ahead panicked"))?,
        }
    }
}

fn read(
    mut inbox: Box<dyn Inbox>,
    from: usize,
    rows: usize,
    layout: &[SentRows],
) -> Result<Vec<Tensor>> {
    let parts = layout.iter().map(|part| {
        let RowLayout { width, kind, .. } = part.rows;
        let sent_as = part.sent_as;
        let mut part = tensor::empty(&[rows as i64, width as i64], kind)?;
        match sent_as {
            None => inbox.read(&mut tensor::bytes_mut(&mut part))?,
            Some(dtype) => {
                read_narrow(&mut tensor::slice_mut(&mut part), dtype, |bytes| inbox.read(bytes))?;
            }
        }
        Ok(part)
    });
    let parts = parts.collect::<Result<Vec<_>>>()?;
    match inbox.remaining() {
        0 => Ok(parts),
        left => {
            let problem = format!("rank {from} sent {left} bytes more than were expected");
            Err(Error::internal(problem))
        }
    }
}

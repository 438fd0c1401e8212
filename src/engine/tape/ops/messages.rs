//! Messages of the other ranks, one rank after the other.

use std::collections::VecDeque;
use std::thread;

use crossbeam::channel::{Receiver, Sender, bounded, unbounded};
use tch::Tensor;

use crate::engine::comm::{Collective, Inbox, ProcessGroup};
use crate::engine::spill::read_narrow;
use crate::engine::tape::graphs::graph::RowLayout;
use crate::engine::tensor;
use crate::error::{Error, Result};
use crate::io::Dtype;

/// The messages of some ranks, in order. If they come from a disk, the next one is read while the caller works on the one
/// before.
pub(in crate::engine::tape) struct Messages<'a> {
    group: &'a dyn ProcessGroup,
    collective: &'a Collective,
    layout: Vec<SentRows>,
    /// Ranks that are left, and their numbers of rows.
    left: VecDeque<(usize, usize)>,
    ahead: Option<(usize, Reading)>,
    /// Started with the first message that comes from a disk.
    reader: Option<Reader>,
}

/// A part of a message.
#[derive(Clone, Copy)]
pub(in crate::engine::tape) struct SentRows {
    /// The layout in which it is wanted.
    pub(in crate::engine::tape) rows: RowLayout,
    /// The narrower type in which it is sent, if it is.
    pub(in crate::engine::tape) sent_as: Option<Dtype>,
}

/// A message: the rank that sent it, and its parts, `[rows, width]` each.
type Message = (usize, Vec<Tensor>);

impl<'a> Messages<'a> {
    /// The messages of these ranks, with this many rows each, in parts of this layout.
    pub(in crate::engine::tape) fn new(
        group: &'a dyn ProcessGroup,
        collective: &'a Collective,
        senders: impl Iterator<Item = (usize, usize)>,
        layout: Vec<SentRows>,
    ) -> Self {
        Messages { group, collective, layout, left: senders.collect(), ahead: None, reader: None }
    }

    fn start_next(&mut self) -> Result<Option<(usize, Reading)>> {
        let Some((rank, rows)) = self.left.pop_front() else { return Ok(None) };
        let inbox = self.group.inbox(self.collective, rank)?;
        let layout = self.layout.clone();
        let from_disk = inbox.waits_for_disk();
        let read: Read = Box::new(move || read(inbox, rank, rows, &layout));
        if !from_disk {
            return Ok(Some((rank, Reading::Later(read))));
        }
        let reader = match self.reader.take() {
            Some(reader) => reader,
            None => Reader::start()?,
        };
        let answer = self.reader.insert(reader).submit(read);
        Ok(Some((rank, Reading::Ahead(answer))))
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

/// Reads a message.
type Read = Box<dyn FnOnce() -> Result<Vec<Tensor>> + Send>;

/// A message that is being read, or will be when it is needed.
enum Reading {
    Later(Read),
    Ahead(Receiver<Result<Vec<Tensor>>>),
}

impl Reading {
    fn parts(self) -> Result<Vec<Tensor>> {
        match self {
            Reading::Later(read) => read(),
            Reading::Ahead(answer) => answer
                .recv()
                .map_err(|_| Error::internal("the thread that reads ahead panicked".to_owned()))?,
        }
    }
}

/// A thread that reads messages, one after the other. It ends once this is dropped.
struct Reader(Sender<(Read, Sender<Result<Vec<Tensor>>>)>);

impl Reader {
    fn start() -> Result<Self> {
        let (sender, requests) = unbounded::<(Read, Sender<_>)>();
        // Nobody waits for messages of a collective that has been given up.
        let work = move || requests.iter().for_each(|(read, answer)| drop(answer.send(read())));
        let thread = thread::Builder::new().name("read-ahead".to_owned()).spawn(work);
        thread.map_err(|e| Error::no_process("a thread", &e))?;
        Ok(Reader(sender))
    }

    /// Asks for a message. The answer's channel is closed if the thread has died.
    fn submit(&self, read: Read) -> Receiver<Result<Vec<Tensor>>> {
        let (sender, answer) = bounded(1);
        drop(self.0.send((read, sender)));
        answer
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

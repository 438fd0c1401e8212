//! A transport between threads of one process; pieces can be delayed, and machines can vanish.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, Sender, TryRecvError, TrySendError, bounded};
use sar::engine::comm::machines::{Piece, Transport};
use sar::{Error, ErrorKind, Result};

/// Number of pieces in transit from one machine to another.
const ON_THE_WAY: usize = 2;

/// One machine's end of the channels between all.
pub(super) struct InProcess {
    machine: usize,
    to: Vec<Sender<Piece>>,
    from: Vec<Lane>,
    delay: Duration,
}

/// The channel from one machine.
struct Lane {
    pieces: Receiver<Piece>,
    late: VecDeque<Late>,
}

/// A delayed piece.
struct Late {
    at: Instant,
    piece: Piece,
}

impl InProcess {
    /// The ends of `machines` machines. Every piece arrives `delay` after it was accepted. Dropping an end makes its
    /// machine vanish.
    pub(super) fn all(machines: usize, delay: Duration) -> Vec<Self> {
        let end = |machine| InProcess { machine, to: Vec::new(), from: Vec::new(), delay };
        let mut ends: Vec<InProcess> = (0..machines).map(end).collect();
        for from in 0..machines {
            for to in 0..machines {
                let (sender, pieces) = bounded(ON_THE_WAY);
                ends[from].to.push(sender);
                ends[to].from.push(Lane { pieces, late: VecDeque::new() });
            }
        }
        ends
    }

    fn gone(machine: usize) -> Error {
        Error::new(ErrorKind::Worker, format!("machine {machine} no longer answers"))
    }
}

impl Transport for InProcess {
    fn machine(&self) -> usize {
        self.machine
    }

    fn num_machines(&self) -> usize {
        self.to.len()
    }

    fn try_send(&mut self, to: usize, piece: Piece) -> Result<Option<Piece>> {
        match self.to[to].try_send(piece) {
            Ok(()) => Ok(None),
            Err(TrySendError::Full(piece)) => Ok(Some(piece)),
            Err(TrySendError::Disconnected(_)) => Err(Self::gone(to)),
        }
    }

    fn try_receive(&mut self, from: usize) -> Result<Option<Piece>> {
        let Lane { pieces, late } = &mut self.from[from];
        match pieces.try_recv() {
            Ok(piece) => late.push_back(Late { at: Instant::now() + self.delay, piece }),
            Err(TryRecvError::Disconnected) if late.is_empty() => return Err(Self::gone(from)),
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => {}
        }
        let is_due = late.front().is_some_and(|late| late.at <= Instant::now());
        Ok(if is_due { late.pop_front().map(|late| late.piece) } else { None })
    }

    fn has_sent_all(&mut self) -> Result<bool> {
        Ok(true)
    }
}

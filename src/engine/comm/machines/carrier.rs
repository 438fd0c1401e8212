//! The launcher's thread that carries messages between machines.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, TryRecvError};
use tracing::debug;

use super::ending::MachineEnd;
use super::incoming::Incoming;
use super::outgoing::{LocalFiles, Outgoing};
use super::pace::Pace;
use super::transport::{MAX_PIECE, Piece, PieceKind, Transport};
use crate::engine::turns::{Control, Stop};
use crate::io::{self, Storage};
use crate::words::error::{Error, ErrorRecord, Result};

/// Maximum total size of parts that are in transit or waiting, in bytes.
const BUFFERS: usize = 64 << 20;
/// Number of parts per target machine: two in transit, and one waiting.
const PARTS: usize = 3;
/// Smallest and largest size of a part.
const SMALLEST: usize = 64 << 10;
const LARGEST: usize = if MAX_PIECE < 4 << 20 { MAX_PIECE } else { 4 << 20 };
/// Number of pieces that are received from a machine before the next machine's turn.
const PIECES_AT_ONCE: usize = 8;
/// Time that machines have to report their end after the run has failed.
const PATIENCE: Duration = Duration::from_secs(3);

/// The machine of a carrier, as far as the carrier uses it.
pub struct Site<'a> {
    /// The control block of the machine's ranks; it must [have a carrier](Control::add_carrier).
    pub control: &'a Arc<Control>,
    /// The folder of the machine's ranks.
    pub folder: &'a Path,
    /// The storage of their files.
    pub storage: Arc<dyn Storage>,
}

/// The result of a carrier's work.
pub struct Carried {
    /// The result of the run; the error is the failure that ended it, on any machine.
    pub result: Result<()>,
    /// The connection, to be closed after everything of the run has been removed on this machine; `None` if a machine
    /// is lost.
    pub transport: Option<Box<dyn Transport>>,
}

/// One machine's part in the exchange of messages.
pub struct Carrier {
    control: Arc<Control>,
    transport: Box<dyn Transport>,
    files: LocalFiles,
    /// Ranks of this machine, ascending.
    ranks: Vec<usize>,
    /// Number of collectives of each rank whose messages have been queued.
    posted: Vec<u64>,
    /// Queues to and state from each machine; the entries of this machine are unused.
    outgoing: Vec<Outgoing>,
    incoming: Vec<Incoming>,
    /// Number of complete pauses.
    pauses: u64,
    /// Whether the end of the current pause has been queued.
    end_is_sent: bool,
    /// Whether the other machines know that ranks have to stop.
    others_know: bool,
    /// Whether another machine has stopped this machine's ranks.
    stopped_by_others: bool,
    /// The carrier's own error.
    trouble: Option<ErrorRecord>,
    /// How each machine has ended; for this machine, once its ranks have.
    ends: Vec<Option<MachineEnd>>,
    /// Bytes sent to other machines.
    sent: u64,
    /// Time at which machines without a reported end are given up.
    lost_at: Option<Instant>,
}

impl Carrier {
    /// The carrier of one machine; `machines` lists the ranks of each.
    pub fn new(transport: Box<dyn Transport>, machines: Vec<Vec<usize>>, site: &Site<'_>) -> Self {
        let world_size = machines.iter().map(Vec::len).sum();
        let ranks = machines[transport.machine()].clone();
        let files = LocalFiles {
            folder: site.folder.to_owned(),
            storage: site.storage.clone(),
            world_size,
        };
        let part = (BUFFERS / PARTS / machines.len()).clamp(SMALLEST, LARGEST);
        let outgoing = machines.iter().map(|ranks| Outgoing::new(ranks.clone(), part)).collect();
        let incoming = machines.iter().map(|ranks| Incoming::new(ranks.clone())).collect();
        Carrier {
            control: site.control.clone(),
            transport,
            files,
            posted: vec![0; ranks.len()],
            ranks,
            outgoing,
            incoming,
            pauses: 0,
            end_is_sent: false,
            others_know: false,
            stopped_by_others: false,
            trouble: None,
            ends: vec![None; machines.len()],
            sent: 0,
            lost_at: None,
        }
    }

    /// Carries messages until the ranks of all machines have ended; `ended` receives the result of this machine's
    /// ranks.
    pub fn run(mut self, ended: &Receiver<Result<()>>) -> Carried {
        let mut pace = Pace::new();
        loop {
            let some = self.step().unwrap_or_else(|error| {
                self.fail(&error);
                false
            });
            self.look_for_end(ended);
            if self.is_over() {
                debug!(bytes = self.sent, pauses = self.pauses, "sent to other machines");
                let lost = |end: Option<MachineEnd>| end.unwrap_or(MachineEnd::Lost);
                let ends: Vec<_> = self.ends.into_iter().map(lost).collect();
                let transport = (!ends.contains(&MachineEnd::Lost)).then_some(self.transport);
                return Carried { result: MachineEnd::result(&ends), transport };
            }
            pace.rest(some);
        }
    }

    /// Does everything that needs no waiting; returns whether there was anything to do.
    fn step(&mut self) -> Result<bool> {
        self.pass_stop_on();
        let mut some = false;
        for machine in self.others() {
            some |= self.receive_from(machine)?;
        }
        self.collect();
        for machine in self.others() {
            some |= self.send_to(machine)?;
        }
        Ok(self.complete() || some)
    }

    fn receive_from(&mut self, machine: usize) -> Result<bool> {
        let mut some = false;
        for _ in 0..PIECES_AT_ONCE {
            if self.ends[machine].is_some() {
                break;
            }
            match self.transport.try_receive(machine) {
                Ok(Some(piece)) => self.take(machine, &piece)?,
                Ok(None) => break,
                Err(error) => self.lose(machine, &error),
            }
            some = true;
        }
        Ok(some)
    }

    fn send_to(&mut self, machine: usize) -> Result<bool> {
        let mut some = false;
        while let Some(piece) = self.outgoing[machine].next(&self.files)? {
            let len = piece.bytes.len() as u64;
            match self.transport.try_send(machine, piece) {
                Ok(None) => {
                    self.sent += len;
                    some = true;
                }
                Ok(Some(piece)) => {
                    self.outgoing[machine].put_back(piece);
                    break;
                }
                Err(error) => self.lose(machine, &error),
            }
        }
        Ok(some)
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let own = self.transport.machine();
        (0..self.transport.num_machines()).filter(move |machine| *machine != own)
    }

    /// Handles a piece that has arrived.
    fn take(&mut self, from: usize, piece: &Piece) -> Result<()> {
        let incoming = &mut self.incoming[from];
        let bytes = &piece.bytes;
        match piece.kind {
            PieceKind::Messages | PieceKind::Part | PieceKind::EndOfPause if self.others_know => {
                // After a stop, nothing is read.
            }
            PieceKind::Messages => incoming.begin(bytes, &self.ranks, &self.files)?,
            PieceKind::Part => incoming.add(bytes, &self.ranks, &self.files)?,
            PieceKind::EndOfPause => incoming.end_pause()?,
            PieceKind::Stop => {
                let interrupted: bool = io::decode(bytes)?;
                self.stop_for_others(if interrupted { Stop::Interrupted } else { Stop::Aborted });
            }
            PieceKind::End => {
                let end: MachineEnd = io::decode(bytes)?;
                if end != MachineEnd::Done {
                    self.stop_for_others(Stop::Aborted);
                }
                self.ends[from] = Some(end);
            }
            PieceKind::Facts => {
                return Err(Error::internal(format!("machine {from} starts again")));
            }
        }
        Ok(())
    }

    /// Queues the messages of ranks that have arrived, and the end of the pause when all have.
    fn collect(&mut self) {
        if self.others_know {
            return;
        }
        // Must be read before the ranks' posts, because ranks post before they arrive.
        let all_have = self.control.ranks_have_arrived();
        for slot in 0..self.ranks.len() {
            let posted = self.control.rank(slot).posted.get();
            for sequence in self.posted[slot]..posted {
                for machine in self.others() {
                    self.outgoing[machine].add_messages(sequence, self.ranks[slot]);
                }
            }
            self.posted[slot] = posted;
        }
        if all_have && !self.end_is_sent {
            self.end_is_sent = true;
            self.send_all(PieceKind::EndOfPause, &[]);
        }
    }

    /// Completes the pause if all messages are where they are read; returns whether it did.
    fn complete(&mut self) -> bool {
        let arrived = |machine: usize| self.incoming[machine].pauses > self.pauses;
        let sent = |machine: usize| self.outgoing[machine].is_done();
        let is_complete = self.end_is_sent
            && !self.others_know
            && self.others().all(|machine| sent(machine) && arrived(machine));
        if is_complete {
            debug!(pause = self.pauses, "carried");
            self.pauses += 1;
            self.end_is_sent = false;
            self.control.arrive();
        }
        is_complete
    }

    fn send_all(&mut self, kind: PieceKind, bytes: &[u8]) {
        for machine in self.others() {
            self.outgoing[machine].add(Piece { kind, bytes: bytes.to_vec() });
        }
    }

    /// Tells the other machines that the ranks of this machine have to stop.
    fn pass_stop_on(&mut self) {
        let Some(stop) = self.control.stopped().filter(|_| !self.others_know) else { return };
        self.know();
        let interrupted = u8::from(stop == Stop::Interrupted);
        self.send_all(PieceKind::Stop, &[interrupted]);
    }

    fn stop_for_others(&mut self, stop: Stop) {
        if !self.others_know {
            self.stopped_by_others = true;
            self.know();
        }
        self.control.stop(stop);
    }

    /// Drops all messages, because they will not be read.
    fn know(&mut self) {
        self.others_know = true;
        self.outgoing.iter_mut().for_each(Outgoing::give_up);
    }

    /// Records the carrier's own error, and stops all ranks.
    fn fail(&mut self, error: &Error) {
        if !self.others_know && self.trouble.is_none() {
            self.trouble = Some(error.into());
        }
        self.control.stop(Stop::Aborted);
    }

    /// Gives up a machine that cannot be reached, and stops all ranks.
    fn lose(&mut self, machine: usize, error: &Error) {
        debug!(machine, %error, "lost");
        self.outgoing[machine].close();
        if self.ends[machine].is_some() {
            return;
        }
        self.ends[machine] = Some(MachineEnd::Lost);
        if !self.others_know && self.trouble.is_none() {
            self.stopped_by_others = true;
        }
        self.control.stop(Stop::Aborted);
    }

    /// Tells the other machines how the ranks of this machine have ended, once they have.
    fn look_for_end(&mut self, ended: &Receiver<Result<()>>) {
        let own = self.transport.machine();
        if self.control.stopped().is_some() && self.ends[own].is_some() {
            self.lost_at.get_or_insert(Instant::now() + PATIENCE);
        }
        if self.ends[own].is_some() {
            return;
        }
        let result = match ended.try_recv() {
            Ok(result) => result,
            Err(TryRecvError::Empty) => return,
            Err(TryRecvError::Disconnected) => Err(Error::internal("the launcher has gone")),
        };
        let end = match (self.trouble.take(), result) {
            (Some(trouble), _) => MachineEnd::Failed(trouble),
            (None, Ok(())) => MachineEnd::Done,
            (None, Err(_)) if self.stopped_by_others => MachineEnd::Stopped,
            (None, Err(error)) => MachineEnd::Failed((&error).into()),
        };
        if end != MachineEnd::Done {
            self.know();
            self.control.stop(Stop::Aborted);
        }
        // Encoding a few words and a text does not fail.
        let bytes = io::encode(&end).unwrap_or_default();
        self.send_all(PieceKind::End, &bytes);
        self.ends[own] = Some(end);
    }

    /// Whether the carrier has finished.
    fn is_over(&mut self) -> bool {
        if self.ends[self.transport.machine()].is_none() {
            return false;
        }
        let sent = self.others().all(|machine| self.outgoing[machine].is_done());
        let all = sent && self.ends.iter().all(Option::is_some);
        // A broken connection sends nothing more.
        let left = all && self.transport.has_sent_all().unwrap_or(true);
        left || self.lost_at.is_some_and(|at| Instant::now() >= at)
    }
}

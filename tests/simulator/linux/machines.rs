//! The machines of a run: processes with sockets between their launchers, in place of MPI.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use sar::Result;
use sar::engine::comm::machines::{Piece, PieceKind, Transport};

use super::board::{MACHINES, board};
use super::random::Random;

/// Number of pieces on their way to a machine.
const ON_THE_WAY: usize = 2;
/// Bytes before each piece: its kind, and the number of its bytes.
const HEADER: usize = 5;
/// Pieces are late by up to this number of microseconds.
const LATE: u64 = 800;

/// The machines of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Machines {
    /// Number of machines.
    pub(crate) number: usize,
    /// Selects how late pieces are.
    pub(crate) seed: u64,
    /// The loss of a machine's connections, if it is planned.
    pub(crate) cut: Option<Cut>,
}

/// The loss of all connections of a machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    pub(crate) machine: usize,
    /// Number of pieces that it sends before.
    pub(crate) nth: u64,
}

impl Machines {
    /// The command runs on this machine alone.
    pub(crate) const ONE: Machines = Machines { number: 1, seed: 0, cut: None };
}

/// The sockets of every machine to all others.
pub(crate) fn connected(machines: usize) -> Vec<Vec<Option<UnixStream>>> {
    assert!(machines <= MACHINES);
    let mut ends: Vec<Vec<Option<UnixStream>>> = Vec::new();
    ends.resize_with(machines, || (0..machines).map(|_| None).collect());
    let pairs = (0..machines).flat_map(|one| (one + 1..machines).map(move |other| [one, other]));
    for [one, other] in pairs {
        let (mine, theirs) = UnixStream::pair().unwrap();
        ends[one][other] = Some(mine);
        ends[other][one] = Some(theirs);
    }
    ends
}

/// A machine's connection to all others. Pieces are late, and the machine may be cut off.
pub(crate) struct Sockets {
    machine: usize,
    links: Vec<Option<Link>>,
    late: Random,
    is_cut: bool,
}

/// The way to another machine, and back.
struct Link {
    socket: UnixStream,
    outgoing: VecDeque<Frame>,
    incoming: Vec<u8>,
    arrived: VecDeque<(Instant, Piece)>,
    is_closed: bool,
}

/// A piece of which a part may have been sent.
struct Frame {
    bytes: Vec<u8>,
    sent: usize,
}

impl Sockets {
    pub(crate) fn new(machine: usize, ends: Vec<Option<UnixStream>>, seed: u64) -> Self {
        let link = |end: Option<UnixStream>| {
            let socket = end?;
            socket.set_nonblocking(true).unwrap();
            let (outgoing, arrived) = (VecDeque::new(), VecDeque::new());
            Some(Link { socket, outgoing, incoming: Vec::new(), arrived, is_closed: false })
        };
        let late = Random::new(seed, &format!("late pieces of machine {machine}"));
        let links = ends.into_iter().map(link).collect();
        Sockets { machine, links, late, is_cut: false }
    }

    fn link(&mut self, machine: usize) -> Result<&mut Link> {
        match &mut self.links[machine] {
            Some(link) if !self.is_cut => Ok(link),
            _ => Err(gone(machine)),
        }
    }

    /// Sends what fits.
    fn flush(&mut self) {
        self.links.iter_mut().flatten().for_each(Link::flush);
    }
}

fn gone(machine: usize) -> sar::Error {
    let problem = format!("machine {machine} no longer answers");
    sar::Error::new(sar::ErrorKind::Worker, problem)
}

impl Link {
    fn flush(&mut self) {
        while let Some(frame) = self.outgoing.front_mut() {
            match self.socket.write(&frame.bytes[frame.sent..]) {
                Ok(len) => frame.sent += len,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.is_closed |= error.kind() != ErrorKind::WouldBlock;
                    return;
                }
            }
            if frame.sent == frame.bytes.len() {
                self.outgoing.pop_front();
            }
        }
    }

    /// Takes what has arrived, up to the end of a piece.
    fn fill(&mut self, late: &mut Random) {
        loop {
            let wanted = match self.incoming.get(1..HEADER) {
                None => HEADER,
                Some(len) => HEADER + u32::from_le_bytes(len.try_into().unwrap()) as usize,
            };
            let have = self.incoming.len();
            if have == wanted && have >= HEADER {
                let delay = Duration::from_micros(late.below(LATE));
                let kind = PieceKind::ALL[usize::from(self.incoming[0])];
                let bytes = self.incoming.split_off(HEADER);
                self.incoming.clear();
                self.arrived.push_back((Instant::now() + delay, Piece { kind, bytes }));
                return;
            }
            self.incoming.resize(wanted, 0);
            let read = self.socket.read(&mut self.incoming[have..]);
            self.incoming.truncate(have + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => {
                    self.is_closed = true;
                    return;
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.is_closed |= error.kind() != ErrorKind::WouldBlock;
                    return;
                }
            }
        }
    }
}

impl Transport for Sockets {
    fn machine(&self) -> usize {
        self.machine
    }

    fn num_machines(&self) -> usize {
        self.links.len()
    }

    fn try_send(&mut self, to: usize, piece: Piece) -> Result<Option<Piece>> {
        self.flush();
        let link = self.link(to)?;
        if link.is_closed {
            return Err(gone(to));
        }
        if link.outgoing.len() >= ON_THE_WAY {
            return Ok(Some(piece));
        }
        if board().cuts(self.machine) {
            self.is_cut = true;
            self.links.iter_mut().for_each(|link| *link = None);
            return Err(gone(to));
        }
        let mut bytes = vec![piece.kind as u8];
        bytes.extend((piece.bytes.len() as u32).to_le_bytes());
        bytes.extend(piece.bytes);
        let link = self.link(to)?;
        link.outgoing.push_back(Frame { bytes, sent: 0 });
        link.flush();
        Ok(None)
    }

    fn try_receive(&mut self, from: usize) -> Result<Option<Piece>> {
        self.flush();
        let Sockets { links, late, .. } = self;
        let Some(link) = &mut links[from] else { return Err(gone(from)) };
        if link.arrived.is_empty() {
            link.fill(late);
        }
        match link.arrived.front() {
            Some((at, _)) if *at <= Instant::now() => {
                Ok(link.arrived.pop_front().map(|(_, piece)| piece))
            }
            None if link.is_closed => Err(gone(from)),
            _ => Ok(None),
        }
    }

    fn has_sent_all(&mut self) -> Result<bool> {
        self.flush();
        Ok(self.links.iter().flatten().all(|link| link.outgoing.is_empty() || link.is_closed))
    }

    /// Waits until all other machines have ended their connections, too, as MPI does.
    fn close(self: Box<Self>) {
        for link in self.links.into_iter().flatten() {
            let _ = link.socket.shutdown(std::net::Shutdown::Write);
            let _ = link.socket.set_nonblocking(false);
            let mut socket = link.socket;
            let _ = socket.read_to_end(&mut Vec::new());
        }
    }
}

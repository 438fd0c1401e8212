//! The transport over MPI: one process per machine. Only the connecting thread makes calls.
#![allow(unsafe_code)] // buffers that MPI reads while they are on their way

use std::collections::VecDeque;
use std::mem::ManuallyDrop;

use mpi::Threading;
use mpi::datatype::Equivalence;
use mpi::environment::{Universe, initialize_with_threading};
use mpi::request::{Request, StaticScope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};

use super::launched::Launched;
use super::transport::{Piece, PieceKind, Transport};
use crate::platform::run_exit_handlers;
use crate::words::error::{Error, Result};

/// Number of pieces in transit to a machine.
const ON_THE_WAY: usize = 2;

/// Initialises MPI; `None` if this process has initialised it before.
pub(super) fn connect(here: Launched) -> Result<Option<Box<dyn Transport>>> {
    let Some((universe, _)) = initialize_with_threading(Threading::Funneled) else {
        return Ok(None);
    };
    // MPICH disconnects from its launcher in an exit handler; without that, the launcher kills the other processes.
    run_exit_handlers();
    let world = universe.world();
    let (rank, size) = (world.rank() as usize, world.size() as usize);
    let sending = (0..size).map(|_| VecDeque::new()).collect();
    let transport = MpiTransport { universe: ManuallyDrop::new(universe), world, sending };
    if (rank, size) == (here.machine, here.machines) {
        return Ok(Some(Box::new(transport)));
    }
    let Launched { machine, machines } = here;
    let problem = format!(
        "is process {machine} of {machines} for the program that started it, but {rank} of {size} for MPI"
    );
    Err(Error::config("this process", problem)
        .with_hint("use the mpirun of the MPI that sar-single was built with; srun needs its option `mpi=pmix`"))
}

struct MpiTransport {
    /// Finalised only by `close`, which waits for all processes; a lost one would never arrive.
    universe: ManuallyDrop<Universe>,
    world: SimpleCommunicator,
    /// Pieces in transit to each machine, oldest first.
    sending: Vec<VecDeque<Sending>>,
}

/// A piece whose bytes MPI may still read.
struct Sending {
    request: ManuallyDrop<Request<'static, [u8], StaticScope>>,
    bytes: *mut [u8],
}

impl Sending {
    /// Frees the bytes if MPI has sent them; otherwise returns the piece.
    fn test(self) -> Option<Self> {
        let Sending { request, bytes } = self;
        if let Err(request) = ManuallyDrop::into_inner(request).test() {
            return Some(Sending { request: ManuallyDrop::new(request), bytes });
        }
        // SAFETY: the pointer comes from `Box::into_raw` in `try_send`. The request, which had the only reference to the bytes, is
        // complete and gone.
        drop(unsafe { Box::from_raw(bytes) });
        None
    }
}

impl MpiTransport {
    /// Frees the pieces that have been sent to a machine; returns the number of pieces still in transit.
    fn settle(&mut self, to: usize) -> usize {
        let sending = std::mem::take(&mut self.sending[to]);
        self.sending[to] = sending.into_iter().filter_map(Sending::test).collect();
        self.sending[to].len()
    }
}

impl Transport for MpiTransport {
    fn machine(&self) -> usize {
        self.world.rank() as usize
    }

    fn num_machines(&self) -> usize {
        self.world.size() as usize
    }

    fn try_send(&mut self, to: usize, piece: Piece) -> Result<Option<Piece>> {
        if self.settle(to) >= ON_THE_WAY {
            return Ok(Some(piece));
        }
        let bytes = Box::into_raw(piece.bytes.into_boxed_slice());
        // SAFETY: the bytes are on the heap, belong to this request alone, and are freed only after it is complete
        // (`Sending::test`). If this transport is dropped before, they are leaked.
        let slice: &'static [u8] = unsafe { &*bytes };
        let process = self.world.process_at_rank(to as i32);
        let tag = piece.kind as i32;
        let request = process.immediate_send_with_tag(StaticScope, slice, tag);
        let request = ManuallyDrop::new(request);
        self.sending[to].push_back(Sending { request, bytes });
        Ok(None)
    }

    fn try_receive(&mut self, from: usize) -> Result<Option<Piece>> {
        let process = self.world.process_at_rank(from as i32);
        let Some((message, status)) = process.immediate_matched_probe() else { return Ok(None) };
        let kind = usize::try_from(status.tag()).ok().and_then(|tag| PieceKind::ALL.get(tag));
        let mut bytes = vec![0; status.count(u8::equivalent_datatype()) as usize];
        message.matched_receive_into(&mut bytes[..]);
        match kind {
            Some(kind) => Ok(Some(Piece { kind: *kind, bytes })),
            None => Err(Error::internal(format!("machine {from} sent a piece of unknown kind"))),
        }
    }

    fn has_sent_all(&mut self) -> Result<bool> {
        Ok((0..self.sending.len()).all(|to| self.settle(to) == 0))
    }

    fn close(self: Box<Self>) {
        drop(ManuallyDrop::into_inner(self.universe));
    }
}

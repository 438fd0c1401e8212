//! Runs on several machines: messages for ranks of other machines, carried between the launchers.
//!
//! Ranks do not notice. They write files and wait, as on one machine ([`FileGroup`](super::FileGroup)). The launcher's
//! [`Carrier`] sends messages for other machines over a [`Transport`], writes arriving ones into files of the remote
//! senders, and is the last to arrive at every collective.
//!
//! Each machine has a launcher, a control block with its own ranks only, a folder and a budget. Ranks are numbered
//! across machines; `Placement` maps a rank to its slot in its machine's control block. Sums stay in rank order, so the
//! bits equal those of one machine.
//!
//! * A transport never waits, so carriers cannot block each other. A part of a message is read from
//!   its file when the transport has room, and taken from the transport when the part before it is
//!   written: neither side holds more than a few.
//! * A launcher forks its workers before it connects, because forking after `MPI_Init` is unsafe.
//!   The number of the machine therefore comes from the environment of the MPI launcher
//!   (`Launched`), and MPI confirms it.
//! * Before the first collective, machines compare their files and settings (`agree`). A launcher that fails
//!   before that takes part all the same, so that the others do not wait for it.
//! * Launchers of MPI kill all processes when one fails. MPI therefore ends when nothing is left of
//!   the run on any machine, and the exit code of the first process is that of the run. Processes
//!   end by `exit`: MPICH disconnects from its launcher in an exit handler, and `_exit` counts as a
//!   crash.
//! * Files that all ranks write or read together exist once per machine (`shares_files`,
//!   `between_machines`). A collective completes the copy of the first machine (weights,
//!   checkpoints, predictions), or all copies.
//! * A stop passes to all machines. Each ends with a last part that says how its ranks have ended;
//!   the first failure is the run's.

mod agreement;
mod carrier;
mod connect;
mod ending;
mod incoming;
mod launched;
#[cfg(feature = "mpi")]
mod mpi;
#[cfg(not(feature = "mpi"))]
mod no_mpi;
mod outgoing;
mod pace;
mod transport;

pub use agreement::{MachineFacts, agree};
pub use carrier::{Carried, Carrier, Site};
pub use connect::{bring, connect};
pub use ending::MachineEnd;
pub use launched::Launched;
pub use transport::{MAX_PIECE, Piece, PieceKind, Transport};

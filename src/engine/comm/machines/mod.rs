//! Runs on several machines: messages for ranks of other machines, carried between the launchers.
//!
//! Ranks see none of this. They write files and wait, as on one machine ([`FileGroup`](super::FileGroup)). The launcher's [`Carrier`]
//! sends what is for other machines over a [`Transport`], writes what arrives into files of the remote senders, and is the last to
//! arrive at every collective.

mod agreement;
mod brought;
mod carrier;
mod connect;
mod ending;
mod in_process;
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
pub use brought::bring;
pub use carrier::{Carried, Carrier, Site};
pub use connect::connect;
pub use ending::{MachineEnd, Trouble};
pub use in_process::InProcess;
pub use launched::Launched;
pub use transport::{MAX_PIECE, Piece, PieceKind, Transport};

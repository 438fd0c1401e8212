//! Runs on several machines: messages for ranks of other machines, carried between the launchers.
//!
//! Ranks see none of this. They write files and wait, as on one machine ([`FileGroup`](super::FileGroup)). The launcher's [`Carrier`]
//! sends what is for other machines over a [`Transport`], writes what arrives into files of the remote senders, and is the last to
//! arrive at every collective.

mod agreement;
mod carrier;
mod ending;
mod in_process;
mod incoming;
mod outgoing;
mod pace;
mod transport;

pub use agreement::{MachineFacts, agree};
pub use carrier::{Carrier, Site};
pub use ending::{MachineEnd, Trouble};
pub use in_process::InProcess;
pub use transport::{MAX_PIECE, Piece, PieceKind, Transport};

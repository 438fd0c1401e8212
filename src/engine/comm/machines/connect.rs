//! The way to the other machines: MPI, unless the program has brought another one.

use super::brought;
use super::launched::Launched;
#[cfg(feature = "mpi")]
use super::mpi;
#[cfg(not(feature = "mpi"))]
use super::no_mpi as mpi;
use super::transport::Transport;
use crate::error::Result;

/// Connects to the other machines; `None` if this process has done so before.
///
/// # Errors
/// If MPI numbers the processes in another way than the launcher.
pub fn connect(here: Launched) -> Result<Option<Box<dyn Transport>>> {
    if brought::here().is_none() {
        return mpi::connect(here);
    }
    Ok(brought::take())
}

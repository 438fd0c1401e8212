//! The connection to the other machines: MPI, unless the program provides another one.

use super::brought;
use super::launched::Launched;
#[cfg(feature = "mpi")]
use super::mpi;
#[cfg(not(feature = "mpi"))]
use super::no_mpi as mpi;
use super::transport::Transport;
use crate::words::error::Result;

/// Connects to the other machines; `None` if this process has connected before.
///
/// # Errors
/// If MPI's numbers of processes differ from the launcher's.
pub fn connect(here: Launched) -> Result<Option<Box<dyn Transport>>> {
    if brought::here().is_none() {
        return mpi::connect(here);
    }
    Ok(brought::take())
}

//! The connection to the other machines: MPI, unless the program provides another one.

use parking_lot::Mutex;

use super::launched::{Launched, PROVIDED};
#[cfg(feature = "mpi")]
use super::mpi;
#[cfg(not(feature = "mpi"))]
use super::no_mpi as mpi;
use super::transport::Transport;
use crate::words::error::Result;

/// The provided connection, until a run takes it.
static TRANSPORT: Mutex<Option<Box<dyn Transport + Send>>> = Mutex::new(None);

/// Makes this process one of several machines, whose launchers communicate over `transport`. For tests, and for
/// programs with a transport other than MPI. Only the first call has an effect.
pub fn bring(transport: Box<dyn Transport + Send>) {
    let here = Launched { machine: transport.machine(), machines: transport.num_machines() };
    if PROVIDED.set(here).is_ok() {
        *TRANSPORT.lock() = Some(transport);
    }
}

/// Connects to the other machines; `None` if this process has connected before.
///
/// # Errors
/// If MPI's numbers of processes differ from the launcher's.
pub fn connect(here: Launched) -> Result<Option<Box<dyn Transport>>> {
    if PROVIDED.get().is_none() {
        return mpi::connect(here);
    }
    Ok(TRANSPORT.lock().take().map(|transport| transport as Box<dyn Transport>))
}

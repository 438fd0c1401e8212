//! A connection between machines that the program provides, instead of MPI.

use std::sync::OnceLock;

use parking_lot::Mutex;

use super::launched::Launched;
use super::transport::Transport;

/// This process's place among the machines, if the program has provided a connection.
static HERE: OnceLock<Launched> = OnceLock::new();
/// The connection, until a run takes it.
static TRANSPORT: Mutex<Option<Box<dyn Transport + Send>>> = Mutex::new(None);

/// Makes this process one of several machines, whose launchers communicate over `transport`. For tests, and for
/// programs with a transport other than MPI. Only the first call has an effect.
pub fn bring(transport: Box<dyn Transport + Send>) {
    let here = Launched { machine: transport.machine(), machines: transport.num_machines() };
    if HERE.set(here).is_ok() {
        *TRANSPORT.lock() = Some(transport);
    }
}

/// This process's place among the machines, if the program has provided a connection.
pub(super) fn here() -> Option<Launched> {
    HERE.get().copied()
}

/// Takes the connection; `None` if a run has taken it already.
pub(super) fn take() -> Option<Box<dyn Transport>> {
    TRANSPORT.lock().take().map(|transport| transport as Box<dyn Transport>)
}

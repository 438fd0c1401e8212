//! A connection between machines that the program brings, in place of MPI.

use std::sync::OnceLock;

use parking_lot::Mutex;

use super::launched::Launched;
use super::transport::Transport;

/// The place of this process, if the program has brought a connection.
static HERE: OnceLock<Launched> = OnceLock::new();
/// The connection, until a run takes it.
static TRANSPORT: Mutex<Option<Box<dyn Transport + Send>>> = Mutex::new(None);

/// Makes this process one of several machines, whose launchers speak over `transport`. For tests, and for programs that have another way between
/// machines than MPI. Only the first call has an effect.
pub fn bring(transport: Box<dyn Transport + Send>) {
    let here = Launched { machine: transport.machine(), machines: transport.num_machines() };
    if HERE.set(here).is_ok() {
        *TRANSPORT.lock() = Some(transport);
    }
}

/// The place of this process, if the program has brought a connection.
pub(super) fn here() -> Option<Launched> {
    HERE.get().copied()
}

/// The connection; `None` if a run has taken it.
pub(super) fn take() -> Option<Box<dyn Transport>> {
    TRANSPORT.lock().take().map(|transport| transport as Box<dyn Transport>)
}

//! This process's connection to the other machines.

use std::path::Path;
use std::thread::JoinHandle;

use crossbeam::channel::{Receiver, Sender, bounded};

use crate::engine::comm::machines::{Carried, Launched, agree, connect};
use crate::words::error::{Error, ErrorRecord, Result};

/// A thread that makes all calls of the transport.
pub(super) struct Connection {
    closing: Sender<()>,
    thread: JoinHandle<()>,
}

impl Connection {
    /// Starts the thread, which runs `work` and sends its result to the receiver.
    pub(super) fn open(
        work: impl FnOnce() -> Carried + Send + 'static,
    ) -> Result<(Self, Receiver<Result<()>>)> {
        let (done, result) = bounded(1);
        let (closing, close) = bounded::<()>(0);
        let thread = std::thread::Builder::new().name("carrier".to_owned()).spawn(move || {
            let Carried { result, transport } = work();
            // The receiver may be gone; the connection is closed in any case.
            let _ = done.send(result);
            let _ = close.recv();
            if let Some(transport) = transport {
                transport.close();
            }
        });
        let thread = thread.map_err(|e| Error::no_process("a thread", &e))?;
        Ok((Connection { closing, thread }, result))
    }

    /// Waits until all machines disconnect. Only results of the run are left on this one.
    pub(super) fn leave(self) {
        drop(self.closing);
        // The thread has sent its result already.
        let _ = self.thread.join();
    }
}

/// Makes an error of this process the error of the run on all machines. Only the first machine prints it.
pub fn end_everywhere(error: Error) -> Error {
    let Some(here) = Launched::here() else { return error };
    let error = match refuse(here, &error) {
        Ok(of_run) => of_run.unwrap_or(error),
        Err(error) => error,
    };
    if here.machine == 0 { error } else { error.reported_elsewhere() }
}

/// Connects to report the error to the others; returns the error of the run, or `None` if this process was connected
/// before.
fn refuse(here: Launched, error: &Error) -> Result<Option<Error>> {
    let trouble = ErrorRecord::from(error);
    let (connection, result) = Connection::open(move || match connect(here) {
        Ok(None) => Carried { result: Ok(()), transport: None },
        Err(error) => Carried { result: Err(error), transport: None },
        Ok(Some(mut transport)) => {
            let result = agree(&mut *transport, Err(trouble)).map(drop);
            Carried { result, transport: Some(transport) }
        }
    })?;
    let received = result.recv();
    let again = || Error::io("meet", Path::new("other machines"), std::io::Error::other("lost"));
    match received.map_err(|_| again())? {
        Ok(()) => Ok(None),
        Err(error) => {
            connection.leave();
            Ok(Some(error))
        }
    }
}

/// Whether this process is one of several, each on its own machine.
pub fn is_one_of_several() -> bool {
    Launched::here().is_some()
}

/// Whether this process prints reports: the first of several machines does, and so does a single process.
pub fn reports() -> bool {
    Launched::here().is_none_or(|here| here.machine == 0)
}

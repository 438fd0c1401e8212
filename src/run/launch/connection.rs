//! This process's connection to the other machines.

use std::path::Path;
use std::thread::JoinHandle;

use crossbeam::channel::{Receiver, Sender, bounded};

use crate::engine::comm::machines::{Carried, Launched, Trouble, agree, connect};
use crate::error::{Error, Result};

/// A thread that makes all calls of the transport.
pub(super) struct Connection {
    closing: Sender<()>,
    thread: JoinHandle<()>,
}

impl Connection {
    /// Starts the thread, which does `work`; the receiver gets the result.
    pub(super) fn open(
        work: impl FnOnce() -> Carried + Send + 'static,
    ) -> Result<(Self, Receiver<Result<()>>)> {
        let (done, result) = bounded(1);
        let (closing, close) = bounded::<()>(0);
        let thread = std::thread::Builder::new().name("carrier".to_owned()).spawn(move || {
            let Carried { result, transport } = work();
            // Whoever waits for the result may have ended; the connection is closed all the same.
            let _ = done.send(result);
            let _ = close.recv();
            if let Some(transport) = transport {
                transport.close();
            }
        });
        let thread = thread.map_err(|e| Error::no_process("a thread", &e))?;
        Ok((Connection { closing, thread }, result))
    }

    /// Waits until all machines leave. Of the run, nothing is left on this one but its results.
    pub(super) fn leave(self) {
        drop(self.closing);
        // What it had to report, it has reported.
        let _ = self.thread.join();
    }
}

/// The error with which a command ends that may run on several machines. All machines have the same one, and the first reports it. Machines
/// that have not met yet learn from this one that it cannot take part.
pub fn end_everywhere(error: Error) -> Error {
    let Some(here) = Launched::here() else { return error };
    let error = match refuse(here, &error) {
        Ok(of_run) => of_run.unwrap_or(error),
        Err(error) => error,
    };
    if here.machine == 0 { error } else { error.reported_elsewhere() }
}

/// Connects for the sake of the others; returns the error of the run, or nothing if this process has been connected before.
fn refuse(here: Launched, error: &Error) -> Result<Option<Error>> {
    let trouble = Trouble::of(error);
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

/// Whether this process prints reports: the first of several machines does, and a process on its own.
pub fn reports() -> bool {
    Launched::here().is_none_or(|here| here.machine == 0)
}

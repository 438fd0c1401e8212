//! The thread that carries messages to other machines and back.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::connection::Connection;
use super::this_machine::ThisMachine;
use crate::engine::comm::machines::{
    Carried, Carrier, Launched, MachineFacts, Site, agree, connect,
};
use crate::engine::turns::{Control, Stop};
use crate::io::{AccountedStorage, DiskStorage, IoMode, Storage};
use crate::platform::signals;
use crate::words::error::{Error, ErrorKind, Result};

/// Interval at which the launcher looks for signals while the carrier ends.
const TICK: Duration = Duration::from_millis(5);

/// A running carrier.
pub(super) struct Carriage {
    control: Arc<Control>,
    ended: Sender<Result<()>>,
    carried: Receiver<Result<()>>,
    connection: Connection,
}

/// The machine of a carrier, as far as the carrier uses it.
pub(super) struct CarriageSite {
    pub(super) control: Arc<Control>,
    pub(super) folder: PathBuf,
    /// How files are written and read when the page cache has no room for them.
    pub(super) io: IoMode,
    /// The file that holds the disk space reserved for the run.
    pub(super) reserve: Option<PathBuf>,
}

impl Carriage {
    /// Starts the thread that connects to the other machines. Call this after the workers have been forked.
    pub(super) fn start(machine: &ThisMachine, site: CarriageSite) -> Result<Self> {
        let (ended, result) = bounded(1);
        let control = site.control.clone();
        let ThisMachine { here, facts } = machine.clone();
        let (connection, carried) = Connection::open(move || {
            let control = site.control.clone();
            let failed = |error| Carried { result: Err(error), transport: None };
            let carried = carry(here, facts, site, &result).unwrap_or_else(failed);
            if carried.result.is_err() {
                control.stop(Stop::Aborted);
            }
            carried
        })?;
        Ok(Carriage { control, ended, carried, connection })
    }

    /// Waits until the ranks of all machines have ended; `result` is the result of this machine's ranks. Returns the
    /// result of the run.
    pub(super) fn end(&self, result: Result<()>) -> Result<()> {
        // If the carrier has failed, it no longer receives.
        let _ = self.ended.send(result);
        loop {
            match self.carried.recv_timeout(TICK) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::internal("the carrier panicked".to_owned()));
                }
                Err(RecvTimeoutError::Timeout) if signals::received() => {
                    self.control.stop(Stop::Interrupted);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Disconnects from the other machines, when the run has left nothing to clean up here.
    pub(super) fn leave(self) {
        self.connection.leave();
    }
}

fn carry(
    here: Launched,
    facts: MachineFacts,
    site: CarriageSite,
    ended: &Receiver<Result<()>>,
) -> Result<Carried> {
    let CarriageSite { control, folder, io, reserve } = site;
    let again = || {
        let problem = "this process has taken part in a run on several machines before";
        Error::new(ErrorKind::Config, problem).with_hint("start new processes for each run")
    };
    let mut transport = connect(here)?.ok_or_else(again)?;
    let machines = match agree(&mut *transport, Ok(facts)) {
        Ok(machines) => machines,
        Err(error) => return Ok(Carried { result: Err(error), transport: Some(transport) }),
    };
    let disk: Arc<dyn Storage> = Arc::new(DiskStorage::with_share(io));
    let storage = AccountedStorage::in_reserve(disk, reserve.as_deref(), control.num_ranks())?;
    let site = Site { control: &control, folder: &folder, storage };
    Ok(Carrier::new(transport, machines, &site).run(ended))
}

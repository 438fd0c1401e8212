//! A separate process that computes one answer.

use std::io::{ErrorKind as IoErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::engine::spill_dir::sweep;
use crate::error::{Error, Result};
use crate::platform::{fork, signals};

/// Interval at which the waiting process checks signals.
const TICK: Duration = Duration::from_millis(50);

/// A forked process with its own threads and a folder for spilled data. It is killed on drop.
#[derive(Debug)]
pub(in crate::run) struct Aside {
    process: Pid,
    link: UnixStream,
    spill_dir: PathBuf,
}

impl Aside {
    /// Starts the process; `work` communicates with this process.
    pub(in crate::run) fn start(
        what: &str,
        spill_dir: &Path,
        work: impl FnOnce(UnixStream) -> Result<()>,
    ) -> Result<Self> {
        let (link, other) = UnixStream::pair().map_err(failed)?;
        let process = fork(what, move || {
            u8::from(!matches!(catch_unwind(AssertUnwindSafe(|| work(other))), Ok(Ok(()))))
        })?;
        Ok(Aside { process, link, spill_dir: spill_dir.to_owned() })
    }

    /// Sends the process its only question.
    pub(in crate::run) fn ask(&mut self, question: &[u8]) -> Result<()> {
        self.link.write_all(question).map_err(failed)?;
        self.link.shutdown(Shutdown::Write).map_err(failed)
    }

    /// Waits for the answer; empty if the process ended without one.
    pub(in crate::run) fn answer(mut self) -> Result<Vec<u8>> {
        self.link.set_read_timeout(Some(TICK)).map_err(failed)?;
        let (mut bytes, mut block) = (Vec::new(), [0; 1 << 12]);
        loop {
            signals::check()?;
            match self.link.read(&mut block) {
                Ok(0) => return Ok(bytes),
                Ok(count) => bytes.extend(&block[..count]),
                Err(e) if is_early(&e) => {}
                Err(e) => return Err(failed(e)),
            }
        }
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // This fails only if the process has ended, and its workers end with it.
        let _ = kill_process(self.process, Signal::KILL);
        let _ = waitpid(Some(self.process), WaitOptions::empty());
        // Removes what the killed process leaves behind; the next run removes what cannot be removed now.
        sweep(&self.spill_dir);
    }
}

fn is_early(error: &std::io::Error) -> bool {
    use IoErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

/// An error on the connection between the two processes.
pub(in crate::run) fn failed(error: std::io::Error) -> Error {
    Error::io("talk to", Path::new("the process that plans"), error)
}

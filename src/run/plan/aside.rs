//! A separate process that computes one answer.

use std::io::{ErrorKind as IoErrorKind, Read, Write};
use std::marker::PhantomData;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::engine::spill_dir::sweep;
use crate::io::{decode, encode};
use crate::platform::{fork, signals};
use crate::words::error::{Error, ErrorRecord, Result};

/// Interval at which the waiting process checks signals.
const TICK: Duration = Duration::from_millis(50);

/// A forked process with its own threads and a folder for spilled data, which answers with a `T`. It is killed on drop.
#[derive(Debug)]
pub(in crate::run) struct Aside<T> {
    process: Pid,
    link: UnixStream,
    spill_dir: PathBuf,
    answer: PhantomData<T>,
}

/// The question to a process, in that process.
pub(in crate::run) struct Asked(UnixStream);

impl Asked {
    /// Waits for the question.
    pub(super) fn read<Q: DeserializeOwned>(&mut self) -> Result<Q> {
        let mut question = Vec::new();
        self.0.read_to_end(&mut question).map_err(failed)?;
        decode(&question)
    }
}

impl<T: Serialize + DeserializeOwned> Aside<T> {
    /// Starts the process, whose answer `work` computes.
    pub(in crate::run) fn start(
        what: &str,
        spill_dir: &Path,
        work: impl FnOnce(&mut Asked) -> Result<T, ErrorRecord>,
    ) -> Result<Self> {
        let (link, other) = UnixStream::pair().map_err(failed)?;
        let process = fork(what, move || {
            let answer = || -> Result<()> {
                let mut asked = Asked(other);
                let answer = encode(&work(&mut asked))?;
                asked.0.write_all(&answer).map_err(failed)
            };
            u8::from(!matches!(catch_unwind(AssertUnwindSafe(answer)), Ok(Ok(()))))
        })?;
        Ok(Aside { process, link, spill_dir: spill_dir.to_owned(), answer: PhantomData })
    }

    /// Sends the process its only question.
    pub(super) fn ask(&mut self, question: &impl Serialize) -> Result<()> {
        self.link.write_all(&encode(question)?).map_err(failed)?;
        self.link.shutdown(Shutdown::Write).map_err(failed)
    }

    /// Waits for the answer; `None` if the process ended without one.
    pub(in crate::run) fn answer(mut self) -> Result<Option<T>> {
        self.link.set_read_timeout(Some(TICK)).map_err(failed)?;
        let (mut bytes, mut block) = (Vec::new(), [0; 1 << 12]);
        loop {
            signals::check()?;
            match self.link.read(&mut block) {
                Ok(0) if bytes.is_empty() => return Ok(None),
                Ok(0) => break,
                Ok(count) => bytes.extend(&block[..count]),
                Err(e) if is_early(&e) => {}
                Err(e) => return Err(failed(e)),
            }
        }
        let answer: Result<T, ErrorRecord> = decode(&bytes)?;
        answer.map(Some).map_err(Error::from)
    }
}

impl<T> Drop for Aside<T> {
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
fn failed(error: std::io::Error) -> Error {
    Error::io("talk to", Path::new("the process that plans"), error)
}

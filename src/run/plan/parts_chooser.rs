//! A process that chooses the number of partitions.

use std::io::{ErrorKind as IoErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use serde::{Deserialize, Serialize};

use super::graph_shape::GraphShape;
use super::num_parts::{PlannedParts, check_run, num_parts};
use crate::engine::spill_dir::sweep;
use crate::error::{Error, ErrorKind, Result};
use crate::io::{decode, encode};
use crate::platform::{fork, signals};
use crate::run::config::RunConfig;

/// Interval at which a waiting process looks for signals.
const TICK: Duration = Duration::from_millis(50);

/// A process that measures runs for a graph that this process reads meanwhile. Measuring forks workers, which takes a process
/// with one thread; readers have several.
#[derive(Debug)]
pub struct PartsChooser {
    run: RunConfig,
    process: Pid,
    link: UnixStream,
    spill_dir: PathBuf,
}

/// What the process sends back.
#[derive(Serialize, Deserialize)]
enum Answer {
    Chosen(PlannedParts),
    Failed { kind: ErrorKind, problem: String, hint: Option<String> },
}

impl PartsChooser {
    /// Starts the process, for a run whose graph is not cut yet.
    ///
    /// # Errors
    /// If no number of partitions can be chosen for such a run, or the system starts no process.
    pub fn start(run: RunConfig) -> Result<Self> {
        check_run(&run)?;
        let (link, other) = UnixStream::pair().map_err(failed)?;
        let planned = &run;
        let process = fork("a process that plans", move || {
            let answered = catch_unwind(AssertUnwindSafe(|| answer(planned, other)));
            u8::from(!matches!(answered, Ok(Ok(()))))
        })?;
        let spill_dir = run.spill_dir.clone();
        Ok(PartsChooser { run, process, link, spill_dir })
    }

    /// The run, without the partition directory that does not exist yet.
    pub fn run(&self) -> &RunConfig {
        &self.run
    }

    /// The smallest number of partitions with which the run fits into its memory budget.
    ///
    /// # Errors
    /// If no number makes it fit, a measurement fails, or the user asks to stop.
    pub fn choose(mut self, shape: &GraphShape) -> Result<PlannedParts> {
        self.link.write_all(&encode(shape)?).map_err(failed)?;
        self.link.shutdown(Shutdown::Write).map_err(failed)?;
        self.link.set_read_timeout(Some(TICK)).map_err(failed)?;
        let (mut bytes, mut block) = (Vec::new(), [0; 1 << 12]);
        loop {
            signals::check()?;
            match self.link.read(&mut block) {
                Ok(0) => break,
                Ok(count) => bytes.extend(&block[..count]),
                Err(e) if is_early(&e) => {}
                Err(e) => return Err(failed(e)),
            }
        }
        if bytes.is_empty() {
            return Err(Error::new(ErrorKind::Worker, "the process that plans has ended early"));
        }
        match decode(&bytes)? {
            Answer::Chosen(parts) => Ok(parts),
            Answer::Failed { kind, problem, hint } => {
                Err(hint.into_iter().fold(Error::new(kind, problem), Error::with_hint))
            }
        }
    }
}

impl Drop for PartsChooser {
    fn drop(&mut self) {
        // It fails only if the process has ended, and its workers end with it.
        let _ = kill_process(self.process, Signal::KILL);
        let _ = waitpid(Some(self.process), WaitOptions::empty());
        // What it leaves behind if it is killed; what cannot be removed now is removed by the next run.
        sweep(&self.spill_dir);
    }
}

fn is_early(error: &std::io::Error) -> bool {
    use IoErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

fn failed(error: std::io::Error) -> Error {
    Error::io("talk to", Path::new("the process that plans"), error)
}

/// The life of the process: one question, one answer.
fn answer(run: &RunConfig, mut link: UnixStream) -> Result<()> {
    let mut question = Vec::new();
    link.read_to_end(&mut question).map_err(failed)?;
    if question.is_empty() {
        return Ok(());
    }
    let answer = match decode(&question).and_then(|shape| num_parts(run, &shape)) {
        Ok(parts) => Answer::Chosen(parts),
        Err(error) => Answer::Failed {
            kind: error.kind(),
            problem: error.marked(),
            hint: error.marked_hint().map(str::to_owned),
        },
    };
    link.write_all(&encode(&answer)?).map_err(failed)
}

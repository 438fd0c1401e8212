//! Files that a run writes about itself, in a separate thread, so that a disk that does not respond delays nothing
//! else.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam::channel::{Sender, unbounded};

use super::listeners::{LoopInput, spawn};
use crate::event::Event;
use crate::words::error::{Error, Result};

/// Time that a failed run waits for its records.
const SHORT: Duration = Duration::from_secs(1);
/// Longest time that an interrupted run waits for its records, which may include a checkpoint.
const LONG: Duration = Duration::from_secs(10);
/// Time without progress after which it stops waiting.
const STUCK: Duration = Duration::from_millis(1500);
/// Number of events that may wait to be recorded; beyond it, workers wait, too.
const MOST: usize = 4096;

/// The records of a run: metrics, checkpoints, a trace.
pub trait EventRecord: Send {
    /// Records an event. `peak` is the largest memory of the process tree so far, in bytes.
    ///
    /// # Errors
    /// If a file cannot be written. No further event is then recorded.
    fn event(&mut self, event: &Event, peak: u64) -> Result<()>;

    /// Completes the files after all workers have ended; may return a note for the user.
    fn end(&mut self) -> Option<String> {
        None
    }
}

/// Calls `work` so that a panic in it is an error: the launcher waits for the thread's messages.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T> {
    let panicked = |_| Error::internal("the recording of the run panicked");
    catch_unwind(AssertUnwindSafe(work)).map_err(panicked)
}

/// State of a run, as far as waiting for records depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunOutcome {
    Good,
    Interrupted,
    Failed,
}

/// The recording thread, as the launcher's loop sees it.
pub(super) struct RecordThread {
    thread: Option<JoinHandle<()>>,
    /// Sends events with the peak memory; dropped when all workers have ended.
    events: Option<Sender<(Box<Event>, u64)>>,
    /// Number of events that have not been recorded yet.
    waiting: usize,
    /// Time at which the workers had ended.
    closed: Instant,
    /// Time of the last recorded event, or the last time at which workers were running.
    progress: Instant,
}

impl RecordThread {
    /// Starts the thread, if there is a record.
    pub(super) fn start(
        record: Option<Box<dyn EventRecord>>,
        inputs: Sender<LoopInput>,
    ) -> Result<Self> {
        let (events, receiver) = unbounded::<(Box<Event>, u64)>();
        let thread = record.map(|mut record| {
            spawn("recorder", move || {
                let mut failed = false;
                for (event, peak) in receiver {
                    // A checkpoint must not be ahead of the metrics, so no event is recorded after a failure.
                    if !failed {
                        let recorded =
                            caught(|| record.event(&event, peak)).and_then(|recorded| recorded);
                        failed = recorded.is_err();
                        // The loop may have ended.
                        let _ = inputs.send(LoopInput::Recorded(event, recorded));
                    }
                }
                let remark = caught(|| record.end()).unwrap_or_else(|e| Some(e.to_string()));
                let _ = inputs.send(LoopInput::EndOfRecords(remark));
            })
        });
        let thread = thread.transpose()?;
        let events = thread.is_some().then_some(events);
        let now = Instant::now();
        Ok(RecordThread { thread, events, waiting: 0, closed: now, progress: now })
    }

    /// Passes an event to the thread, or returns it if the run keeps no record.
    pub(super) fn take(&mut self, event: Box<Event>, peak: u64) -> Option<Box<Event>> {
        let Some(events) = &self.events else { return Some(event) };
        self.waiting += 1;
        events.send((event, peak)).err().map(|lost| lost.0.0)
    }

    /// Notes that an event has been recorded.
    pub(super) fn recorded(&mut self) {
        self.waiting -= 1;
        self.progress = Instant::now();
    }

    /// Whether every event has been recorded.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting == 0
    }

    /// Whether no further events should be passed for now.
    pub(super) fn is_full(&self) -> bool {
        self.waiting >= MOST
    }

    /// Tells the thread to complete the files, because all workers have ended.
    pub(super) fn close(&mut self) {
        if self.events.take().is_some() {
            self.closed = Instant::now();
            self.progress = self.closed;
        }
    }

    /// Whether the run has to wait for the thread after its workers have ended.
    pub(super) fn is_waited_for(&self, outcome: RunOutcome) -> bool {
        let since = self.closed.elapsed();
        let waits = match outcome {
            RunOutcome::Good => true,
            RunOutcome::Interrupted => since < LONG && self.progress.elapsed() < STUCK,
            RunOutcome::Failed => since < SHORT,
        };
        self.thread.is_some() && waits
    }

    /// Notes that the thread has finished.
    pub(super) fn ended(&mut self) {
        if let Some(thread) = self.thread.take() {
            // Panics in it have been caught.
            let _ = thread.join();
        }
    }

    /// Whether the thread still waits for a disk.
    pub(super) fn is_stuck(&self) -> bool {
        self.thread.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;

    /// A record on a disk that does not respond until the sender is dropped.
    struct Stuck(crossbeam::channel::Receiver<()>);

    impl EventRecord for Stuck {
        fn event(&mut self, _: &Event, _: u64) -> Result<()> {
            let _ = self.0.recv();
            Ok(())
        }
    }

    #[test]
    fn a_disk_that_does_not_answer_is_not_waited_for_after_a_failure() {
        let (answer, disk) = unbounded();
        let (inputs, outputs) = unbounded();
        let mut recorder = RecordThread::start(Some(Box::new(Stuck(disk))), inputs).unwrap();
        for _ in 0..2 {
            assert!(recorder.take(Box::new(Event::Step), 0).is_none());
        }
        recorder.close();
        assert!(!recorder.is_idle() && recorder.is_waited_for(RunOutcome::Good));
        while recorder.is_waited_for(RunOutcome::Failed)
            || recorder.is_waited_for(RunOutcome::Interrupted)
        {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(recorder.is_waited_for(RunOutcome::Good) && recorder.is_stuck());
        drop(answer);
        while recorder.is_stuck() {
            match outputs.recv().unwrap() {
                LoopInput::Recorded(_, recorded) => {
                    recorded.unwrap();
                    recorder.recorded();
                }
                LoopInput::EndOfRecords(_) => recorder.ended(),
                LoopInput::Signal(_) => unreachable!(),
            }
        }
        assert!(recorder.is_idle());
    }
}

//! Threads whose messages the launcher's loop receives.

use std::path::Path;
use std::thread::JoinHandle;

use crossbeam::channel::{Receiver, Sender, bounded, unbounded};
use signal_hook::consts::SIGCHLD;
use signal_hook::iterator::{Handle, Signals};

use crate::event::{Event, EventReceiver};
use crate::platform::signals;
use crate::words::error::{Error, Result};

/// Number of events that are read ahead.
const AHEAD: usize = 64;

/// An input of the loop other than a worker's event.
pub(super) enum LoopInput {
    Signal(i32),
    /// The event has been recorded, or failed to be.
    Recorded(Box<Event>, Result<()>),
    /// Recording has ended, with a note for the user if there is one.
    EndOfRecords(Option<String>),
}

/// The threads that turn signals and workers' messages into inputs.
pub(super) struct Listeners {
    /// Inputs of the loop, and the sender for them.
    pub(super) inputs: (Sender<LoopInput>, Receiver<LoopInput>),
    /// Events of workers; disconnected once all workers are gone.
    pub(super) events: Receiver<Box<Event>>,
    signals: Handle,
    threads: Vec<JoinHandle<()>>,
}

impl Listeners {
    pub(super) fn start(mut receiver: EventReceiver) -> Result<Self> {
        let inputs = unbounded();
        let watched = signals::ending().iter().chain(&[SIGCHLD]);
        let mut signals =
            Signals::new(watched).map_err(|e| Error::io("watch", Path::new("signals"), e))?;
        let handle = signals.handle();
        let from_signals = inputs.0.clone();
        let signal_thread = spawn("signals", move || {
            for signal in signals.forever() {
                if from_signals.send(LoopInput::Signal(signal)).is_err() {
                    break;
                }
            }
        })?;
        let (sender, events) = bounded(AHEAD);
        let mut listeners =
            Listeners { inputs, events, signals: handle, threads: vec![signal_thread] };
        let event_thread = spawn("events", move || {
            // A frame that cannot be read means that the pipe is broken.
            while let Ok(Some(event)) = receiver.receive() {
                if sender.send(Box::new(event)).is_err() {
                    return;
                }
            }
        });
        match event_thread {
            Ok(thread) => listeners.threads.push(thread),
            Err(error) => {
                listeners.stop();
                return Err(error);
            }
        }
        Ok(listeners)
    }

    /// Ends the threads, so that this process may fork again.
    pub(super) fn stop(self) {
        drop(self.events);
        self.signals.close();
        for thread in self.threads {
            // The threads end on their own; a panic in them could not be handled here.
            let _ = thread.join();
        }
    }
}

/// Starts a thread.
pub(super) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map_err(|e| Error::no_process("a thread", &e))
}

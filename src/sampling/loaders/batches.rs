//! The batches of one epoch, sampled ahead by threads.

use std::thread::JoinHandle;

use crossbeam::channel::{Receiver, bounded};

use crate::event::{SpanKind, span};
use crate::words::error::{Error, Result};

/// Number of batches that a sampler thread keeps ready in addition to the one it is sampling.
const AHEAD: usize = 1;

/// Iterator over the batches of an epoch, in order. It ends after an error.
pub struct Batches<T> {
    next: usize,
    steps: usize,
    /// Function that samples on the caller's thread, without sampler threads.
    inline: Option<Box<dyn Fn(usize) -> Result<T>>>,
    /// Sampler threads. Thread t samples the batches t, t + T, ..., so their order is known without sorting.
    threads: Vec<(Receiver<Result<T>>, JoinHandle<()>)>,
    /// The error of a thread that could not be started, until it is reported.
    failure: Option<Error>,
}

impl<T: Send + 'static> Batches<T> {
    /// Batches that are sampled on request.
    pub(super) fn on_demand(steps: usize, sample: impl Fn(usize) -> Result<T> + 'static) -> Self {
        let inline = Some(Box::new(sample) as _);
        Batches { next: 0, steps, threads: Vec::new(), failure: None, inline }
    }

    /// Batches that `threads` threads sample ahead.
    pub(super) fn ahead(
        steps: usize,
        threads: usize,
        sample: impl Fn(usize) -> Result<T> + Clone + Send + 'static,
    ) -> Self {
        let count = threads.min(steps);
        let threads = (0..count).map(|first| {
            let (sender, receiver) = bounded(AHEAD);
            let sample = sample.clone();
            let work = move || {
                for step in (first..steps).step_by(count) {
                    let sampled = {
                        let _span = span(SpanKind::Operation, "sample a batch");
                        sample(step)
                    };
                    // The receiver is gone if the epoch was abandoned.
                    if sender.send(sampled).is_err() {
                        return;
                    }
                }
            };
            match std::thread::Builder::new().spawn(work) {
                Ok(thread) => Ok((receiver, thread)),
                Err(e) => Err(Error::no_process("a sampler thread", &e)),
            }
        });
        let (threads, failure) = match threads.collect() {
            Ok(threads) => (threads, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        Batches { next: 0, steps, threads, failure, inline: None }
    }

    /// Whether each batch is sampled on request.
    pub fn is_on_demand(&self) -> bool {
        self.inline.is_some()
    }

    /// Number of batches of the epoch.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Number of remaining batches.
    pub fn steps_left(&self) -> usize {
        self.steps - self.next
    }

    fn batch(&mut self, step: usize) -> Result<T> {
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        if let Some(sample) = &self.inline {
            return sample(step);
        }
        self.threads[step % self.threads.len()].0.recv().unwrap_or_else(|_| {
            Err(Error::internal("a sampler thread ended before its work was done"))
        })
    }
}

impl<T: Send + 'static> Iterator for Batches<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.steps {
            return None;
        }
        let batch = self.batch(self.next);
        self.next = if batch.is_ok() { self.next + 1 } else { self.steps };
        Some(batch)
    }
}

impl<T> Drop for Batches<T> {
    fn drop(&mut self) {
        let (receivers, threads): (Vec<_>, Vec<_>) = self.threads.drain(..).unzip();
        // Dropping the receivers wakes threads that wait for room.
        drop(receivers);
        for thread in threads {
            // The missing batch has been reported as an error already.
            let _ = thread.join();
        }
    }
}

//! The batches of one epoch, sampled ahead by threads.

use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam::channel::{Receiver, bounded};

use super::schedule::Schedule;
use crate::dist::SampleKey;
use crate::error::{Error, Result};

/// Batches that a sampler thread keeps ready beside the one it works on.
const AHEAD: usize = 1;

/// What batches come from.
pub(super) trait Source: Send + Sync + 'static {
    /// A batch.
    type Item: Send + 'static;

    /// Which seeds come when.
    fn schedule(&self) -> &Schedule;

    /// Makes the batch of some seeds: a pure function.
    fn sample(&self, seeds: &[u64], key: SampleKey) -> Result<Self::Item>;
}

/// An iterator over the batches of an epoch, in their order. After an error it ends.
pub struct Batches<T> {
    next: usize,
    steps: usize,
    /// Samples on the caller's thread, where there are no others.
    inline: Box<dyn Fn(usize) -> Result<T>>,
    /// Thread t samples the batches t, t + T, ...: the order of batches needs no sorting.
    threads: Vec<(Receiver<Result<T>>, JoinHandle<()>)>,
}

impl<T: Send + 'static> Batches<T> {
    pub(super) fn start<S: Source<Item = T>>(source: Arc<S>, epoch: u32) -> Self {
        let order = Arc::new(source.schedule().order(epoch));
        let steps = source.schedule().steps();
        let count = source.schedule().config.sampler_threads.min(steps);
        let sample = move |step: usize| {
            let (seeds, key) = source.schedule().batch(epoch, &order, step);
            source.sample(seeds, key)
        };
        let threads = (0..count).map(|first| {
            let (sender, receiver) = bounded(AHEAD);
            let sample = sample.clone();
            let work = move || {
                for step in (first..steps).step_by(count) {
                    // Nobody listens any more if the epoch was given up.
                    if sender.send(sample(step)).is_err() {
                        return;
                    }
                }
            };
            (receiver, std::thread::spawn(work))
        });
        Batches { next: 0, steps, threads: threads.collect(), inline: Box::new(sample) }
    }

    fn batch(&self, step: usize) -> Result<T> {
        match self.threads.len() {
            0 => (self.inline)(step),
            count => self.threads[step % count].0.recv().unwrap_or_else(|_| {
                Err(Error::Internal("a sampler thread ended before its work was done".to_owned()))
            }),
        }
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
        // A thread that waits for room learns that nobody listens.
        drop(receivers);
        for thread in threads {
            // A panic has been told where the batch was missing.
            let _ = thread.join();
        }
    }
}

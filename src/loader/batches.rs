//! The batches of one epoch, sampled ahead by threads.

use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam::channel::{Receiver, bounded};

use super::data_loader::Task;
use super::mini_batch::MiniBatch;
use crate::error::{Error, Result};

/// Batches that a sampler thread keeps ready beside the one it works on.
const AHEAD: usize = 1;

/// An iterator over the batches of an epoch, in their order. After an error it ends.
pub struct Batches {
    task: Arc<Task>,
    epoch: u32,
    order: Arc<Vec<u64>>,
    next: usize,
    /// Thread t samples the batches t, t + T, ...: the order of batches needs no sorting.
    threads: Vec<(Receiver<Result<MiniBatch>>, JoinHandle<()>)>,
}

impl Batches {
    pub(super) fn start(task: &Arc<Task>, epoch: u32) -> Self {
        let order = Arc::new(task.order(epoch));
        let count = task.config.sampler_threads.min(task.steps);
        let threads = (0..count).map(|first| {
            let (sender, receiver) = bounded(AHEAD);
            let (task, order) = (task.clone(), order.clone());
            let work = move || {
                for step in (first..task.steps).step_by(count) {
                    // Nobody listens any more if the epoch was given up.
                    if sender.send(task.batch(epoch, &order, step)).is_err() {
                        return;
                    }
                }
            };
            (receiver, std::thread::spawn(work))
        });
        Batches { task: task.clone(), epoch, next: 0, threads: threads.collect(), order }
    }

    fn batch(&self, step: usize) -> Result<MiniBatch> {
        match self.threads.len() {
            0 => self.task.batch(self.epoch, &self.order, step),
            count => self.threads[step % count].0.recv().unwrap_or_else(|_| {
                Err(Error::Internal("a sampler thread ended before its work was done".to_owned()))
            }),
        }
    }
}

impl Iterator for Batches {
    type Item = Result<MiniBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.task.steps {
            return None;
        }
        let batch = self.batch(self.next);
        self.next = if batch.is_ok() { self.next + 1 } else { self.task.steps };
        Some(batch)
    }
}

impl Drop for Batches {
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

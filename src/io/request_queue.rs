//! Disk requests, several of them in flight.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use crossbeam::channel::{Receiver, Sender, bounded, unbounded};

type Job = Box<dyn FnOnce() + Send>;

/// Number of requests in flight, and of the threads that carry them out.
pub(super) const DEPTH: usize = 4;

/// Threads that carry out disk requests. They start with the first request and end when this value is dropped.
#[derive(Default)]
pub(super) struct RequestQueue(OnceLock<Threads>);

struct Threads {
    /// Sender of jobs; `None` only while the threads are ending.
    jobs: Option<Sender<Job>>,
    handles: Vec<JoinHandle<()>>,
}

impl RequestQueue {
    fn submit(&self, job: Job) -> io::Result<()> {
        let threads = self.0.get_or_init(|| {
            let (sender, receiver) = unbounded::<Job>();
            // A thread that fails to start does no harm as long as there is another: see below.
            let handles = (0..DEPTH).filter_map(|i| {
                let jobs = receiver.clone();
                let thread = std::thread::Builder::new().name(format!("disk-{i}"));
                thread.spawn(move || jobs.iter().for_each(|job| job())).ok()
            });
            Threads { handles: handles.collect(), jobs: Some(sender) }
        });
        let sent = threads.jobs.as_ref().map(|jobs| jobs.send(job));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => Err(io::Error::other("cannot start a thread for disk requests")),
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.handles.drain(..) {
            // A thread that panicked sent no answer, which its caller has reported.
            let _ = thread.join();
        }
    }
}

/// Requests of one file: at most [`DEPTH`] at a time, answered in request order.
pub(super) struct InFlight<T> {
    queue: Arc<RequestQueue>,
    /// One channel per answer, so that a thread that dies closes it.
    answers: VecDeque<Receiver<io::Result<T>>>,
}

impl<T: Send + 'static> InFlight<T> {
    pub(super) fn new(queue: &Arc<RequestQueue>) -> Self {
        InFlight { queue: queue.clone(), answers: VecDeque::new() }
    }

    /// Whether another request has to wait for one in flight.
    pub(super) fn is_full(&self) -> bool {
        self.answers.len() == DEPTH
    }

    pub(super) fn submit(
        &mut self,
        request: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<()> {
        let (sender, answer) = bounded(1);
        // Answers of a file that has been given up are not awaited.
        self.queue.submit(Box::new(move || drop(sender.send(request()))))?;
        self.answers.push_back(answer);
        Ok(())
    }

    /// Waits for the oldest request; `None` if there is none.
    pub(super) fn next(&mut self) -> io::Result<Option<T>> {
        let Some(answer) = self.answers.pop_front() else { return Ok(None) };
        let answer = answer.recv();
        answer.map_err(|_| io::Error::other("a thread for disk requests has died"))?.map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_order_and_a_lost_one_is_an_error() {
        let mut requests = InFlight::new(&Arc::default());
        for i in 0..DEPTH {
            assert!(!requests.is_full());
            requests.submit(move || if i == 2 { panic!("lost") } else { Ok(i) }).unwrap();
        }
        assert!(requests.is_full());
        let answers: Vec<_> = (0..DEPTH).map(|_| requests.next().ok().flatten()).collect();
        assert_eq!(answers, [Some(0), Some(1), None, Some(3)]);
        assert!(requests.next().unwrap().is_none());
        // The remaining threads go on.
        requests.submit(|| Ok(9)).unwrap();
        assert_eq!(requests.next().unwrap(), Some(9));
    }
}

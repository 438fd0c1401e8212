//! Requests to the disk, several of them in flight.

use std::io;
use std::sync::{Arc, OnceLock};

use crossbeam::channel::{Receiver, Sender, unbounded};

type Job = Box<dyn FnOnce() + Send>;

/// Requests in flight, and threads that carry them out.
pub(super) const DEPTH: usize = 4;

/// Threads that carry out requests to the disk; started with the first request.
#[derive(Default)]
pub(super) struct RequestQueue(OnceLock<Sender<Job>>);

impl RequestQueue {
    fn submit(&self, job: Job) -> io::Result<()> {
        let queue = self.0.get_or_init(|| {
            let (sender, receiver) = unbounded::<Job>();
            for i in 0..DEPTH {
                let jobs = receiver.clone();
                // A thread that cannot be started is not missed as long as there is another: see below.
                let _ = std::thread::Builder::new()
                    .name(format!("disk-{i}"))
                    .spawn(move || jobs.iter().for_each(|job| job()));
            }
            sender
        });
        queue.send(job).map_err(|_| io::Error::other("no thread for disk requests can be started"))
    }
}

/// The requests of one file: at most [`DEPTH`] at a time.
pub(super) struct InFlight<T> {
    queue: Arc<RequestQueue>,
    sender: Sender<io::Result<T>>,
    receiver: Receiver<io::Result<T>>,
    count: usize,
}

impl<T: Send + 'static> InFlight<T> {
    pub(super) fn new(queue: &Arc<RequestQueue>) -> Self {
        let (sender, receiver) = unbounded();
        InFlight { queue: queue.clone(), sender, receiver, count: 0 }
    }

    /// Whether another request has to wait for one that is under way.
    pub(super) fn is_full(&self) -> bool {
        self.count == DEPTH
    }

    pub(super) fn submit(
        &mut self,
        request: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<()> {
        let sender = self.sender.clone();
        // Nobody waits for the answers of a file that is given up.
        self.queue.submit(Box::new(move || drop(sender.send(request()))))?;
        self.count += 1;
        Ok(())
    }

    /// Waits for a request, any of them; `None` if there is none.
    pub(super) fn next(&mut self) -> io::Result<Option<T>> {
        if self.count == 0 {
            return Ok(None);
        }
        self.count -= 1;
        let answer = self.receiver.recv();
        answer.map_err(|_| io::Error::other("a thread for disk requests has gone"))?.map(Some)
    }
}

//! A time limit for each input.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Time limit of an input. Inputs take less than a millisecond; machines may be busy.
const LIMIT: Duration = Duration::from_secs(60);

/// Ends the process, with a message, if an input takes too long.
pub(crate) struct Watchdog {
    state: Arc<State>,
}

struct State {
    input: AtomicU64,
    /// Milliseconds since the start; 0 between inputs.
    since: AtomicU64,
    done: AtomicBool,
    start: Instant,
}

impl Watchdog {
    pub(crate) fn new(format: &str) -> Self {
        let state = Arc::new(State {
            input: AtomicU64::new(0),
            since: AtomicU64::new(0),
            done: AtomicBool::new(false),
            start: Instant::now(),
        });
        let (watched, format) = (Arc::clone(&state), format.to_owned());
        thread::spawn(move || {
            while !watched.done.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(200));
                let since = watched.since.load(Ordering::Relaxed);
                if since > 0 && watched.start.elapsed() > LIMIT + Duration::from_millis(since) {
                    let input = watched.input.load(Ordering::Relaxed);
                    eprintln!("{format}: input {input} takes more than {LIMIT:?}");
                    std::process::abort();
                }
            }
        });
        Watchdog { state }
    }

    /// Times `read`.
    pub(crate) fn time<T>(&self, input: u64, read: impl FnOnce() -> T) -> (T, Duration) {
        let before = self.state.start.elapsed();
        self.state.input.store(input, Ordering::Relaxed);
        self.state.since.store(before.as_millis().max(1) as u64, Ordering::Relaxed);
        let result = read();
        self.state.since.store(0, Ordering::Relaxed);
        (result, self.state.start.elapsed().saturating_sub(before))
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.state.done.store(true, Ordering::Relaxed);
    }
}

//! The two standard streams. Each has a writing thread, so that a reader who does not read delays the text and nothing
//! else: a full pipe, Ctrl-S in a terminal, a stalled connection, a slow disk.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::platform::signals;

/// Largest number of bytes of status that wait for a reader; later text is left out.
const ROOM: usize = 1 << 20;
/// Time in which a reader usually takes a text. A slower reader counts as stalled until it has taken everything.
const USUAL: Duration = Duration::from_millis(100);
/// Time without progress after which the end of the program stops waiting for a reader.
const PATIENCE: Duration = Duration::from_millis(500);
/// Interval at which a result that waits for its reader looks for signals, and a stream that is not ready is tried
/// again.
const TICK: Duration = Duration::from_millis(20);
/// Size of the stack of a thread that only writes.
const STACK: usize = 64 << 10;

/// The process whose threads write. Forked children have no such threads, and their copy of a lock may be locked: they
/// write directly, and take no lock.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Standard output.
pub(super) static OUTPUT: Stream = Stream::new(true);
/// Standard error.
pub(super) static ERRORS: Stream = Stream::new(false);

/// A standard stream.
pub(super) struct Stream {
    is_output: bool,
    // Locks of the standard library: they have no state elsewhere, so a fork finds none locked.
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    has_thread: bool,
    /// Text for the thread to take.
    waiting: Vec<u8>,
    /// Bytes that the thread has taken and not yet written.
    writing: usize,
    /// Bytes written since the start.
    written: u64,
    /// Whether the reader is slower than usual.
    stalled: bool,
    /// Why a text since the last result was not written.
    failure: Option<io::Error>,
}

impl State {
    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.writing == 0
    }
}

/// Makes this process the owner of the writing threads, unless another one is; returns the number of its threads.
/// Processes forked from now on write directly.
pub(crate) fn own_streams() -> usize {
    let writes = |stream: &Stream| usize::from(stream.lock().has_thread);
    if is_owner() { writes(&OUTPUT) + writes(&ERRORS) } else { 0 }
}

/// Waits until readers have taken all text, as long as they make progress.
pub(crate) fn flush() {
    if is_owner() {
        OUTPUT.flush();
        ERRORS.flush();
    }
}

fn is_owner() -> bool {
    let own = std::process::id();
    let owner = OWNER.compare_exchange(0, own, Ordering::SeqCst, Ordering::SeqCst);
    owner.is_ok() || owner == Err(own)
}

impl Stream {
    const fn new(is_output: bool) -> Self {
        let state = State {
            has_thread: false,
            waiting: Vec::new(),
            writing: 0,
            written: 0,
            stalled: false,
            failure: None,
        };
        Stream { is_output, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Shows a text if the reader takes it in time. Errors are ignored: work must not stop for its messages.
    pub(super) fn offer(&'static self, text: &str) {
        self.show(text, ROOM);
    }

    /// [`offer`](Self::offer) for a picture, which later ones replace: left out while other text waits.
    pub(super) fn draw(&'static self, picture: &str) {
        self.show(picture, 0);
    }

    /// Shows a text if at most `room` bytes wait before it.
    fn show(&'static self, text: &str, room: usize) {
        if !is_owner() {
            let _ = self.write(text.as_bytes(), |_| {});
            return;
        }
        let mut state = self.lock();
        if state.waiting.len() + state.writing > room {
            return;
        }
        state.waiting.extend(text.as_bytes());
        self.start(&mut state);
        if !state.stalled {
            let until_idle = |state: &mut State| !state.is_idle();
            let waited = self.changed.wait_timeout_while(state, USUAL, until_idle);
            let (mut state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
            state.stalled = waited.timed_out();
        }
    }

    /// Writes a result, however long the reader takes.
    pub(super) fn deliver(&'static self, text: &str) -> io::Result<()> {
        if !is_owner() {
            return self.write(text.as_bytes(), |_| {});
        }
        if self.is_output {
            // Earlier status comes first where both streams are one: `2>&1 | cat`.
            ERRORS.flush();
        }
        let mut state = self.lock();
        state.failure = None;
        state.waiting.extend(text.as_bytes());
        self.start(&mut state);
        while !state.is_idle() {
            (state, _) =
                self.changed.wait_timeout(state, TICK).unwrap_or_else(PoisonError::into_inner);
            if signals::received() && !state.is_idle() {
                return Err(ErrorKind::Interrupted.into());
            }
        }
        state.failure.take().map_or(Ok(()), Err)
    }

    fn flush(&self) {
        let mut state = self.lock();
        let mut since = (Instant::now(), state.written);
        while !state.is_idle() && since.0.elapsed() < PATIENCE {
            (state, _) =
                self.changed.wait_timeout(state, TICK).unwrap_or_else(PoisonError::into_inner);
            if state.written != since.1 {
                since = (Instant::now(), state.written);
            }
        }
    }

    /// Starts the thread if there is none. Where the system starts no more threads, the calling thread writes.
    fn start(&'static self, state: &mut State) {
        if !state.has_thread {
            let thread = std::thread::Builder::new().name("console".to_owned()).stack_size(STACK);
            state.has_thread = thread.spawn(|| self.serve()).is_ok();
        }
        if state.has_thread {
            self.changed.notify_all();
        } else {
            let text = std::mem::take(&mut state.waiting);
            state.failure = self.write(&text, |_| {}).err();
        }
    }

    /// The thread's work.
    fn serve(&self) {
        let mut text = Vec::new();
        loop {
            let state = self.lock();
            let waiting = self.changed.wait_while(state, |state| state.waiting.is_empty());
            let mut state = waiting.unwrap_or_else(PoisonError::into_inner);
            std::mem::swap(&mut text, &mut state.waiting);
            state.writing = text.len();
            drop(state);
            let done = self.write(&text, |count| {
                let mut state = self.lock();
                state.writing -= count;
                state.written += count as u64;
            });
            text.clear();
            let mut state = self.lock();
            state.writing = 0;
            state.failure = done.err().or(state.failure.take());
            state.stalled &= !state.is_idle();
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Writes bytes; `note` gets the number of bytes that each call has written.
    fn write(&self, mut bytes: &[u8], mut note: impl FnMut(usize)) -> io::Result<()> {
        let (output, errors) = (io::stdout(), io::stderr());
        // Bypasses the standard library's locks and buffers, which a forked child may need.
        let stream: BorrowedFd<'_> = if self.is_output { output.as_fd() } else { errors.as_fd() };
        while !bytes.is_empty() {
            match rustix::io::write(stream, bytes).map_err(io::Error::from) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => {
                    bytes = &bytes[count..];
                    note(count);
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                // Another program with the same stream has made it non-blocking.
                Err(e) if e.kind() == ErrorKind::WouldBlock => std::thread::sleep(TICK),
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

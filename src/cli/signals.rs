//! Commands that a signal can end at any point.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use signal_hook::iterator::Signals;

use crate::cli::show::output::show;
use crate::event::flush;
use crate::platform::signals;
use crate::words::error::{Error, Result};

/// Time for a command to end on its own after a signal.
const PATIENCE: Duration = Duration::from_millis(500);
/// Interval of checking whether it has ended.
const TICK: Duration = Duration::from_millis(10);

/// Does the work of a command that starts no processes. After a signal, the work has a moment to end. If it does not
/// check for signals in that time (a large read or sort is uninterruptible), its unfinished output is removed and the
/// process ends.
pub(super) fn interruptible<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    static DONE: AtomicBool = AtomicBool::new(false);
    let failed = |e| Error::io("watch", Path::new("signals"), e);
    let mut signals = Signals::new(signals::ending()).map_err(failed)?;
    let watch = move || {
        // A signal that came before this thread started shows only in the flag.
        if !signals::received() && signals.forever().next().is_none() {
            return;
        }
        let since = Instant::now();
        while since.elapsed() < PATIENCE {
            std::thread::sleep(TICK);
            if DONE.load(Ordering::SeqCst) {
                return;
            }
        }
        signals::remove_unfinished();
        let stopped = Error::interrupted();
        show(&stopped);
        flush();
        signal_hook::low_level::exit(i32::from(stopped.exit_code()));
    };
    let thread = std::thread::Builder::new().name("signals".to_owned()).spawn(watch);
    thread.map_err(|e| Error::no_process("a thread", &e))?;
    let result = work();
    DONE.store(true, Ordering::SeqCst);
    result
}

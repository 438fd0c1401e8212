//! The threads that compute.

use std::error::Error as _;
use std::io;

use crate::words::error::{Error, Result};

/// Starts the pool for all parallel work of this process.
///
/// With `this_too`, this thread belongs to the pool and no other thread may use it; work of microseconds then wakes no
/// thread.
///
/// # Errors
/// If a thread cannot be started (`OutOfProcesses`).
pub fn start_pool(threads: usize, this_too: bool) -> Result<()> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let pool = if this_too { pool.use_current_thread() } else { pool };
    pool.build_global().map_err(|error| {
        let source = error.source().and_then(|e| e.downcast_ref());
        source.map_or_else(
            || Error::internal(format!("cannot start the thread pool: {error}")),
            |source: &io::Error| Error::no_process("a thread", source),
        )
    })
}

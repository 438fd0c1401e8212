//! Signals that end a command.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::error::{Error, Result};

/// True once the user wants to stop.
pub(super) fn watch_signals() -> Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let registered = signal_hook::flag::register(signal, Arc::clone(&interrupted));
        registered.map_err(|e| Error::Internal(format!("signals cannot be watched: {e}")))?;
    }
    Ok(interrupted)
}

//! The engine's log: lines on standard error, set by `SAR_LOG`.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::time::Uptime;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::stderr::show_always;
use crate::words::error::{Error, Result};

/// Environment variable with the level: `debug`, or levels by module (`sar::engine::comm=trace,info`).
const VARIABLE: &str = "SAR_LOG";

/// Rank of this process, from 1; 0 in the launcher.
static RANK: AtomicUsize = AtomicUsize::new(0);

/// Starts the log if the environment asks for it. Nothing is logged otherwise.
pub(crate) fn start_log() -> Result<()> {
    let Some(wanted) = std::env::var_os(VARIABLE).filter(|wanted| !wanted.is_empty()) else {
        return Ok(());
    };
    let targets: Targets = wanted.to_string_lossy().parse().map_err(|e| {
        let problem = format!("unknown level `{}`: {e}", wanted.display());
        Error::config(VARIABLE, problem).with_hint("use error, warn, info, debug or trace")
    })?;
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_timer(Uptime::default())
        .with_writer(|| Lines);
    // Fails if this process has a log already: a program that calls the command line twice keeps the first.
    let _ = tracing_subscriber::registry().with(lines).with(targets).try_init();
    Ok(())
}

/// Lets the lines of this process carry its rank.
pub(crate) fn log_as_rank(rank: usize) {
    RANK.store(rank + 1, Ordering::Relaxed);
}

/// Shows each event as whole lines.
struct Lines;

impl io::Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        match RANK.load(Ordering::Relaxed) {
            0 => show_always(&format!("launcher {text}")),
            rank => show_always(&format!("rank {} {text}", rank - 1)),
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

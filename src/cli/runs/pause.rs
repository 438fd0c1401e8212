//! `pause` and `continue`: a run frees its memory, and continues later.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use crate::cli::show::output::{print, print_event};
use crate::engine::spill_dir::LivingRun;
use crate::engine::turns::Request;
use crate::event::{Voice, voice};
use crate::platform::{proportional_bytes, signals};
use crate::words::error::{Error, Result};
use crate::words::size::size;

/// Interval of looking at a pausing run.
const LOOK: Duration = Duration::from_millis(50);

/// Pause a run: its workers write their data to disk and free their memory
///
/// The command waits until all workers have stopped, after at most two turns of each. The results of the run do not change.
/// Continue it with `continue`, or end it with Ctrl-C in its terminal.
#[derive(Debug, Args)]
pub(in crate::cli) struct PauseArgs {
    /// Folder of results of a run, or the folder that it spills into
    #[arg(value_name = "RUN")]
    run: PathBuf,
}

/// Continue a paused run
#[derive(Debug, Args)]
pub(in crate::cli) struct ContinueArgs {
    /// Folder of results of a run, or the folder that it spills into
    #[arg(value_name = "RUN")]
    run: PathBuf,
}

/// Pauses a run, and waits until its workers have stopped.
pub(in crate::cli) fn pause(args: PauseArgs) -> Result<()> {
    let run = LivingRun::find(&args.run)?;
    if !run.control.run().is_asked(Request::Pause) {
        run.control.ask(Request::Pause);
    }
    while !run.is_paused() {
        signals::check()?;
        if !run.is_alive() {
            let problem = "the run ended before it came to a place to pause";
            return Err(Error::input(&args.run, "", problem)
                .with_hint("if it failed, its own output says why"));
        }
        std::thread::sleep(LOOK);
    }
    run.drop_page_cache()?;
    let ranks = (0..run.control.num_ranks()).map(|rank| run.control.rank(rank).process.get());
    let held: u64 = ranks.map(|pid| proportional_bytes(&pid.to_string())).sum();
    match voice() {
        Voice::Json => print_event(&json!({
            "event": "paused",
            "memory_bytes": held,
            "disk_bytes": run.disk_bytes(),
        })),
        _ => print(&format!(
            "paused: workers hold {} in memory, and {} on the disk\n",
            size(held),
            size(run.disk_bytes())
        )),
    }
}

/// Continues a paused run.
pub(in crate::cli) fn go_on(args: ContinueArgs) -> Result<()> {
    let run = LivingRun::find(&args.run)?;
    if !run.control.run().is_asked(Request::Pause) {
        return Err(Error::input(&args.run, "", "the run is not paused"));
    }
    run.control.take_back(Request::Pause);
    match voice() {
        Voice::Json => print_event(&json!({ "event": "continued" })),
        _ => print("continued\n"),
    }
}

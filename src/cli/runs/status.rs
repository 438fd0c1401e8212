//! `status`: workers of running runs.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use crate::cli::flags::fields::with_flags;
use crate::cli::show::output::{print, print_event};
use crate::cli::show::table::TextTable;
use crate::engine::spill_dir::{LivingRun, default_spill_dir};
use crate::engine::turns::{Activity, Request};
use crate::event::{Voice, printable, time, voice};
use crate::platform::{free_space, proportional_bytes};
use crate::run::{EndedRun, Ending, resume_command};
use crate::words::error::Result;
use crate::words::size::size;

/// Show the phases and memory of a run's workers, the disk, and the time that is left; or how a run has ended
#[derive(Debug, Args)]
pub(in crate::cli) struct StatusArgs {
    /// Folder of results of a run, or the folder that it spills into
    #[arg(value_name = "RUN", required_unless_present = "all", conflicts_with = "all")]
    run: Option<PathBuf>,
    /// Show all runs that spill into --spill-dir
    #[arg(long)]
    all: bool,
    /// Folder in which --all looks for runs [default: $TMPDIR or /var/tmp]
    #[arg(long, value_name = "DIR", requires = "all")]
    spill_dir: Option<PathBuf>,
}

/// Prints a table for each run, or an event.
pub(in crate::cli) fn status(args: StatusArgs) -> Result<()> {
    let runs = match args.run {
        Some(run) => match LivingRun::find(&run) {
            Ok(living) => vec![living],
            Err(not_found) => {
                let ended = EndedRun::read(&run)?;
                let hint = "name the folder of results of a run, or pass --all for all that run";
                let ended = ended.ok_or_else(|| not_found.with_hint(hint))?;
                return show_ended(&run, &ended);
            }
        },
        None => LivingRun::all(&args.spill_dir.unwrap_or_else(default_spill_dir))?,
    };
    for run in &runs {
        match voice() {
            Voice::Json => print_event(&event(run))?,
            _ => print(&show(run))?,
        }
    }
    if runs.is_empty() && voice() != Voice::Json {
        return print("no run is using this folder\n");
    }
    Ok(())
}

/// Prints how a run has ended.
fn show_ended(folder: &Path, run: &EndedRun) -> Result<()> {
    if voice() == Voice::Json {
        let mut event = json!(run);
        event["event"] = json!("ended");
        event["folder"] = json!(folder);
        return print_event(&event);
    }
    let EndedRun { ending, epoch, epochs, saved, .. } = run;
    let how = match ending {
        Ending::Done => "done",
        Ending::Interrupted => "interrupted",
        Ending::Failed => "failed",
        Ending::Diverged => "diverged",
        Ending::Killed => "ended without a record (it was killed, or its disk was full)",
    };
    let mut text = format!("{}: {how}, {epoch} of {epochs} epochs complete\n", folder.display());
    for (what, said) in [("error", &run.error), ("  hint", &run.hint)] {
        if let Some(said) = said {
            let _ = writeln!(text, "{what}: {}", printable(&with_flags(said)));
        }
    }
    match (saved, ending) {
        (None, _) | (_, Ending::Done) => {}
        (Some(saved), Ending::Diverged) => {
            let _ = writeln!(text, "the checkpoint of epoch {saved} is kept");
        }
        (Some(saved), Ending::Interrupted | Ending::Failed | Ending::Killed) => {
            let folder = std::path::absolute(folder).unwrap_or(folder.to_owned());
            let command = with_flags(&resume_command(&folder));
            let _ = writeln!(text, "saved as of epoch {saved}; resume with: {command}");
        }
    }
    print(&text)
}

/// Words for a rank's activity.
fn doing(activity: Activity) -> &'static str {
    match activity {
        Activity::Starting => "starts",
        Activity::Resident => "computes",
        Activity::Parked => "waits",
        Activity::Paused => "paused",
        Activity::Finished => "finished",
    }
}

fn memory_of(pid: u32) -> u64 {
    proportional_bytes(&pid.to_string())
}

/// The epoch of the rank that is furthest ahead.
fn epoch(run: &LivingRun) -> u32 {
    let ranks = (0..run.control.num_ranks()).map(|rank| run.control.rank(rank).epoch.get());
    ranks.max().unwrap_or(0)
}

fn show(run: &LivingRun) -> String {
    let of_run = run.control.run();
    let mut text = format!("{}: process {}", run.folder().display(), of_run.launcher.get());
    if of_run.epochs.get() > 0 {
        let _ = write!(text, ", epoch {} of {}", epoch(run), of_run.epochs.get());
    }
    let state = match (run.is_paused(), of_run.is_asked(Request::Pause)) {
        (true, _) => ", paused".to_owned(),
        (false, true) => ", about to pause".to_owned(),
        (false, false) => of_run
            .left()
            .map_or_else(String::new, |left| format!(", about {} left", time(f64::from(left)))),
    };
    let budget = match of_run.budget.get() {
        0 => String::new(),
        budget => format!(" of {}", size(budget)),
    };
    let free =
        free_space(run.folder()).map_or_else(String::new, |free| format!(", {} free", size(free)));
    let _ = writeln!(
        text,
        "{state}\nmemory: {}{budget}, {} at most\ndisk: {}{free}",
        size(of_run.used.get()),
        size(of_run.peak.get()),
        size(run.disk_bytes())
    );
    let mut table = TextTable::new(&[">rank", "", "phase", ">turns", ">memory", ">moved"]);
    for slot in 0..run.control.num_ranks() {
        let status = run.control.rank(slot);
        table.row([
            status.number.get().to_string(),
            doing(status.activity()).to_owned(),
            status.phase().to_string(),
            status.turns.get().to_string(),
            size(memory_of(status.process.get())),
            size(status.moved.get()),
        ]);
    }
    text + &table.to_string()
}

fn event(run: &LivingRun) -> Value {
    let of_run = run.control.run();
    let ranks = (0..run.control.num_ranks()).map(|slot| {
        let status = run.control.rank(slot);
        json!({
            "rank": status.number.get(),
            "process": status.process.get(),
            "activity": doing(status.activity()),
            "epoch": status.epoch.get(),
            "phase": status.phase().to_string(),
            "turns": status.turns.get(),
            "memory_bytes": memory_of(status.process.get()),
            "moved_bytes": status.moved.get(),
        })
    });
    json!({
        "event": "run",
        "folder": run.folder(),
        "process": of_run.launcher.get(),
        "epoch": epoch(run),
        "epochs": of_run.epochs.get(),
        "paused": run.is_paused(),
        "left_s": of_run.left(),
        "memory_bytes": of_run.used.get(),
        "peak_memory_bytes": of_run.peak.get(),
        "budget_bytes": of_run.budget.get(),
        "disk_bytes": run.disk_bytes(),
        "free_disk_bytes": free_space(run.folder()),
        "ranks": ranks.collect::<Vec<_>>(),
    })
}

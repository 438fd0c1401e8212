//! `report`: an HTML page on runs.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;

use super::disk_endurance::DiskEndurance;
use crate::cli::flags::fields::with_flags;
use crate::cli::show::output::{check_output, print_output};
use crate::engine::spill_dir::LivingRun;
use crate::event::show_status;
use crate::io::Destination;
use crate::platform::signals;
use crate::report::{Page, page};
use crate::run::RunData;
use crate::words::error::{Error, Result};

/// Show one or several runs on an HTML page, a single file
///
/// The page begins with learning curves and final scores; confusion matrices, time, memory, turns, bytes and the settings
/// follow. Charts show several runs together.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(in crate::cli) struct ReportArgs {
    /// Folders of training runs, complete or not
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// HTML file to write; - is standard output
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    overwrite: bool,
    /// Write the page again every few seconds, until the runs have ended; the page reloads itself
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    disk_endurance: DiskEndurance,
}

/// Time between two pages of a run in progress.
const PERIOD: Duration = Duration::from_secs(5);
/// Interval of looking for signals.
const TICK: Duration = Duration::from_millis(100);

/// Writes the page, and prints its path.
pub(in crate::cli) fn report(args: ReportArgs) -> Result<()> {
    check_output(&args.out)?;
    let place = Destination::find(&args.out, "out", args.overwrite)?;
    if args.watch && place.regular().is_none() {
        return Err(Error::config("watch", "rewrites a regular file, but --out is not one")
            .with_hint("name a file with --out"));
    }
    if args.watch {
        let (page, seconds) = (args.out.display(), PERIOD.as_secs());
        show_status(&format!("{page} is written every {seconds} s until the runs have ended\n"));
    }
    // The last page shows runs that have ended.
    while args.watch && args.runs.iter().any(|run| LivingRun::find(run).is_ok()) {
        write(&args, &place, Some(PERIOD))?;
        let begin = Instant::now();
        while begin.elapsed() < PERIOD {
            signals::check()?;
            std::thread::sleep(TICK);
        }
    }
    write(&args, &place, None)?;
    print_output(&args.out)
}

/// Writes a page that the browser reloads after `again`.
fn write(args: &ReportArgs, place: &Destination, again: Option<Duration>) -> Result<()> {
    let runs = args.runs.iter().map(|folder| RunData::read(folder));
    let html = page(Page {
        runs: runs.collect::<Result<_>>()?,
        made_by: format!("sar-single {}", env!("CARGO_PKG_VERSION")),
        again: again.map(|period| period.as_secs()),
        wear: &|written| args.disk_endurance.share_of(written),
        flags: with_flags,
    });
    let mut file = place.open()?;
    file.write_all(html.as_bytes()).map_err(|e| file.failed(e))?;
    file.commit()
}

//! `report`: an HTML page on runs.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::disk_endurance::DiskEndurance;
use super::output::{check_output, print_output};
use crate::error::Result;
use crate::io::Destination;
use crate::report::{Page, RunData, RunFiles, page};
use crate::run::{CONFIG, METRICS, PLAN, TURNS};

/// Show one or several runs on an HTML page, a single file
///
/// The page has charts of loss, metrics, learning rate, time, memory and bytes, the turns of an epoch, confusion matrices and
/// the configuration. Charts show several runs together.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(super) struct ReportArgs {
    /// Folders of training runs, complete or not
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// HTML file to write; - is standard output
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    disk_endurance: DiskEndurance,
}

/// Writes the page, and prints its path.
pub(super) fn report(args: ReportArgs) -> Result<()> {
    check_output(&args.out)?;
    let place = Destination::find(&args.out, "out", args.overwrite)?;
    let files = RunFiles { config: CONFIG, metrics: METRICS, turns: TURNS, plan: PLAN };
    let runs = args.runs.iter().map(|folder| RunData::read(folder, files));
    let runs = runs.collect::<Result<_>>()?;
    let made_by = format!("sar-single {}", env!("CARGO_PKG_VERSION"));
    let wear = |written| args.disk_endurance.share_of(written);
    let html = page(Page { runs, made_by }, &wear);
    let mut file = place.open()?;
    file.write_all(html.as_bytes()).map_err(|e| file.failed(e))?;
    file.commit()?;
    print_output(&args.out)
}

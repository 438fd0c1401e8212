//! `report`: runs as a page.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::disk_endurance::DiskEndurance;
use super::output::print_path;
use crate::error::{Error, Result};
use crate::io::{AtomicFile, MadeFolders};
use crate::report::{Page, RunData, RunFiles, page};
use crate::run::{CONFIG, METRICS, PLAN, TURNS};

/// Show one or several runs as a page: one HTML file that needs nothing else
///
/// The page has charts of loss, metrics, learning rate, time, memory and bytes, the turns of an epoch, confusion matrices and
/// the configuration. Several runs are laid over each other.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(super) struct ReportArgs {
    /// Folders of training runs, complete or not
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// HTML file to write
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,
    #[command(flatten)]
    disk_endurance: DiskEndurance,
}

/// Writes the page, and prints its path.
pub(super) fn report(args: ReportArgs) -> Result<()> {
    let files = RunFiles { config: CONFIG, metrics: METRICS, turns: TURNS, plan: PLAN };
    let runs = args.runs.iter().map(|folder| RunData::read(folder, files));
    let runs = runs.collect::<Result<_>>()?;
    let made_by = format!("sar-single {}", env!("CARGO_PKG_VERSION"));
    let wear = |written| args.disk_endurance.share_of(written);
    let html = page(Page { runs, made_by }, &wear);
    let made = MadeFolders::create_for(&args.out, "out")?;
    let file = AtomicFile::create(&args.out)?;
    let written = file.file().write_all(html.as_bytes());
    written.map_err(|e| Error::io("write", &args.out, e))?;
    file.commit()?;
    made.keep();
    print_path(&args.out)
}

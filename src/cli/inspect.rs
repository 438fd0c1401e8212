//! `inspect`: what is in a partition directory.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;

use super::output::{print, show};
use super::partition_tables::{features, header, partitions, types};
use super::table::printable;
use crate::data::dgl::{PartitionConfig, PartitionSummary, verify};
use crate::error::{Error, Result};

/// Show what is in a partition directory
///
/// Lists node and edge types, what each partition holds, and features. Only headers are read, so that this is quick for
/// graphs of any size.
#[derive(Debug, Args)]
pub(super) struct InspectArgs {
    /// Partition directory's JSON file
    #[arg(value_name = "FILE")]
    part_json: PathBuf,
    /// Also read all nodes and edges, and check that they contradict neither each other nor the JSON file
    #[arg(long)]
    verify: bool,
}

/// Prints tables and what is wrong.
pub(super) fn inspect(args: InspectArgs) -> Result<()> {
    let config = PartitionConfig::open(&args.part_json)?;
    let parts = config.parts().len();
    let opened: Vec<Result<PartitionSummary>> =
        (0..parts).map(|part| PartitionSummary::open(&config, part)).collect();
    let tables = [header(&config), types(&config), partitions(&opened), features(&config, &opened)];
    let mut text = tables.join("\n");
    text.push('\n');
    let notes = opened.iter().flatten().flat_map(|summary| &summary.notes);
    for note in config.notes().iter().chain(notes) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "note: {}", printable(note));
    }
    print(&text)?;
    // What keeps a partition from being opened is among the findings.
    let (errors, what) = if args.verify {
        (verify(&config), "findings")
    } else {
        (opened.into_iter().filter_map(Result::err).collect(), "partitions that cannot be opened")
    };
    if errors.is_empty() {
        let checked = format!("verified: all is well in {parts} partitions\n");
        return if args.verify { print(&checked) } else { Ok(()) };
    }
    errors.iter().for_each(show);
    Err(Error::input(&args.part_json, "", format!("{} {what}", errors.len())))
}

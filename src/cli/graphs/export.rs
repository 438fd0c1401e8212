//! `export`: from a partition directory to a data set of GraphBolt.

use std::path::PathBuf;

use clap::Args;

use crate::cli::show::output::print_path;
use crate::event::{StepBar, printable, show_status};
use crate::platform::signals;
use crate::prepare::export::write_data_set;
use crate::prepare::partition::default_memory;
use crate::words::error::Result;
use crate::words::size::parse_size;

/// Write a partitioned graph as a data set of GraphBolt
///
/// Writes metadata.yaml and arrays of NumPy, which dgl.graphbolt.OnDiskDataset loads and partition --chunked reads. Nodes are in
/// the order of their original ids, if these number them from 0. Masks become the sets of tasks; all other data become
/// features. Prints the folder.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(in crate::cli) struct ExportArgs {
    /// Partition directory's JSON file
    #[arg(value_name = "FILE")]
    part_json: PathBuf,
    /// Folder to write to, new or empty, on a disk with room for temporary files as well
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Memory to use, such as 2GiB [default: half of free memory]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<u64>,
}

/// Writes the data set, and prints its folder.
pub(in crate::cli) fn export(args: &ExportArgs) -> Result<()> {
    let memory = args.memory.unwrap_or_else(default_memory);
    let mut bar = StepBar::new();
    let notes = write_data_set(&args.part_json, &args.out, memory, &mut |progress| {
        signals::check()?;
        bar.show(progress.step, progress.done, progress.total);
        Ok(())
    })?;
    drop(bar);
    for note in notes {
        show_status(&format!("note: {}", printable(&note)));
    }
    print_path(&args.out)
}

//! `inspect`: content of a partition directory.

use std::path::PathBuf;

use clap::Args;

use crate::cli::show::output::{print, show};
use crate::cli::show::partition_tables::{features, header, partitions, types};
use crate::cli::show::statistics_table::statistics;
use crate::event::printable;
use crate::formats::dgl::config::PartitionConfig;
use crate::formats::dgl::{PartitionSummary, verify};
use crate::prepare::statistics::graph_statistics;
use crate::words::error::{Error, Result};

/// Show the content of a partition directory
///
/// Lists node and edge types, the sizes of each partition, and features. Reads only headers, so it is fast for graphs of any
/// size.
#[derive(Debug, Args)]
pub(in crate::cli) struct InspectArgs {
    /// Partition directory's JSON file
    #[arg(value_name = "FILE")]
    part_json: PathBuf,
    /// Also read all nodes, edges and features, and check that they agree with each other and with the JSON file, and that
    /// features are finite. Later changes of features are not detected: the files have no checksums
    #[arg(long)]
    verify: bool,
    /// Also read everything once and show degrees, classes, masks, values that are not finite, the edge cut, and the approximate
    /// memory of training
    #[arg(long)]
    statistics: bool,
    /// Print only the statistics, as a JSON object
    #[arg(long, requires = "statistics", conflicts_with = "verify")]
    json: bool,
}

const VERIFIED: &str = "
verified: ids, edges, types and shapes agree, and values of features are finite
not verified: whether values are those that were written, as the files have no checksums
";

/// Prints tables and findings.
pub(in crate::cli) fn inspect(args: InspectArgs) -> Result<()> {
    let config = PartitionConfig::open(&args.part_json)?;
    if args.json {
        let text = serde_json::to_string_pretty(&graph_statistics(&config)?)
            .map_err(|e| Error::internal(format!("cannot encode statistics: {e}")))?;
        return print(&format!("{text}\n"));
    }
    let parts = config.parts().len();
    let opened: Vec<Result<PartitionSummary>> =
        (0..parts).map(|part| PartitionSummary::open(&config, part)).collect();
    let tables = [header(&config), types(&config), partitions(&opened), features(&config, &opened)];
    print(&tables.join("\n"))?;
    let notes = opened.iter().flatten().flat_map(|summary| &summary.notes);
    let notes = config.notes().iter().chain(notes);
    let notes: Vec<String> = notes.map(|note| format!("note: {}\n", printable(note))).collect();
    if !notes.is_empty() {
        print(&format!("\n{}", notes.concat()))?;
    }
    if args.statistics && opened.iter().all(Result::is_ok) {
        print(&format!("\n{}", statistics(&graph_statistics(&config)?)))?;
    }
    // Errors of opening a partition are among the findings.
    let errors: Vec<Error> = if args.verify {
        verify(&config)
    } else {
        opened.into_iter().filter_map(Result::err).collect()
    };
    errors.iter().for_each(show);
    let problem = match (errors.len(), args.verify) {
        (0, true) => return print(VERIFIED),
        (0, false) => return Ok(()),
        (1, true) => "contradicts its partitions: 1 finding".to_owned(),
        (count, true) => format!("contradicts its partitions: {count} findings"),
        (count, false) => format!("{count} of {parts} partitions cannot be opened"),
    };
    Err(Error::input(&args.part_json, "", problem))
}

//! What can be said on the command line.

use clap::{CommandFactory, Parser};

use super::train::{TrainArgs, train};
use crate::error::Error;

/// Train graph neural networks on graphs that do not fit in memory.
///
/// Takes a partition directory made by dgl.distributed.partition_graph, starts one worker process per partition and
/// keeps only as many of them in memory as you allow.
#[derive(Parser)]
#[command(name = "sar-single", version, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(flatten)]
    train: Option<TrainArgs>,
}

/// Parses the command line and does what it says; gives the exit code.
pub fn run() -> u8 {
    let arguments = Arguments::parse();
    let result = match arguments {
        Arguments { train: Some(args) } => train(args),
        Arguments { train: None } => {
            // Nothing was asked for: say what can be.
            Arguments::command().print_help().map_err(|e| Error::Internal(e.to_string()))
        }
    };
    result.map_or_else(|error| report(&error), |()| crate::error::exit::DONE)
}

fn report(error: &Error) -> u8 {
    eprintln!("error: {error}");
    if let Some(hint) = error.hint() {
        eprintln!("  hint: {hint}");
    }
    error.exit_code()
}

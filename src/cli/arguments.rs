//! What can be said on the command line.

use clap::{CommandFactory, Parser, Subcommand};

use super::clean::{CleanArgs, clean};
use super::generate::{GenerateArgs, generate};
use super::inspect::{InspectArgs, inspect};
use super::output::show;
use super::partition::{PartitionArgs, partition};
use super::predict::{PredictArgs, predict};
use super::train::{TrainArgs, train};
use crate::error::{Error, exit};

/// Train graph neural networks on graphs that do not fit in memory.
///
/// Takes a partition directory made by dgl.distributed.partition_graph, starts one worker process per partition and
/// keeps only as many of them in memory as you allow.
#[derive(Parser)]
#[command(name = "sar-single", version, arg_required_else_help = true)]
#[command(args_conflicts_with_subcommands = true, args_override_self = true)]
struct Arguments {
    #[command(flatten)]
    train: Option<TrainArgs>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    Generate(GenerateArgs),
    Inspect(InspectArgs),
    // Its many lists of files make it much larger than the others.
    Partition(Box<PartitionArgs>),
    Predict(PredictArgs),
    Clean(CleanArgs),
}

/// Parses the command line and does what it says; gives the exit code.
pub fn run() -> u8 {
    let arguments = Arguments::parse();
    let result = match (arguments.command, arguments.train) {
        (Some(Command::Generate(args)), _) => generate(args),
        (Some(Command::Inspect(args)), _) => inspect(args),
        (Some(Command::Partition(args)), _) => partition(*args),
        (Some(Command::Predict(args)), _) => predict(args),
        (Some(Command::Clean(args)), _) => clean(args),
        (None, Some(args)) => train(args),
        // Nothing was asked for: say what can be.
        (None, None) => Arguments::command()
            .print_help()
            .map_err(|e| Error::Internal(format!("the help cannot be shown: {e}"))),
    };
    result.map_or_else(|error| report(&error), |()| exit::DONE)
}

fn report(error: &Error) -> u8 {
    show(error);
    error.exit_code()
}

//! What can be said on the command line.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use super::clean::{CleanArgs, clean};
use super::correct_and_smooth::{CorrectAndSmoothArgs, correct_and_smooth};
use super::generate::{GenerateArgs, generate};
use super::inspect::{InspectArgs, inspect};
use super::output::{print, print_usage, show};
use super::partition::{PartitionArgs, partition};
use super::plan::{PlanArgs, plan};
use super::predict::{PredictArgs, predict};
use super::resume::{RunArgs, changed, resume};
use super::signals::interruptible;
use super::train::{TrainArgs, train};
use crate::error::{Error, Result, exit};
use crate::platform::raise_open_files;
use crate::platform::signals;

/// Train graph neural networks on graphs that do not fit in memory.
///
/// Takes a partition directory made by dgl.distributed.partition_graph, starts one worker process per partition and
/// keeps only as many of them in memory as you allow.
#[derive(Parser)]
#[command(name = "sar-single", version, arg_required_else_help = true)]
#[command(args_conflicts_with_subcommands = true, args_override_self = true)]
#[command(allow_negative_numbers = true)]
struct Arguments {
    #[command(flatten)]
    train: Option<TrainArgs>,
    #[command(flatten)]
    run: RunArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    Generate(GenerateArgs),
    Inspect(InspectArgs),
    // Its many lists of files make it much larger than the others.
    Partition(Box<PartitionArgs>),
    // As many flags as training has.
    Plan(Box<PlanArgs>),
    Predict(PredictArgs),
    CorrectAndSmooth(CorrectAndSmoothArgs),
    Clean(CleanArgs),
}

/// All commands and flags, as they are parsed.
pub fn definition() -> clap::Command {
    Arguments::command()
}

/// Does what the command line of this process says; returns the exit code.
pub fn run() -> u8 {
    run_from(std::env::args_os())
}

/// Does what a command line says, whose first word is the program's name; returns the exit code.
pub fn run_from(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    if let Err(error) = signals::watch() {
        return report(&error);
    }
    raise_open_files();
    let mut definition = definition();
    let done = match parse(&mut definition, arguments) {
        Ok(arguments) => execute(arguments, definition).map(|()| exit::DONE),
        Err(message) => print_usage(&message),
    };
    done.unwrap_or_else(|error| report(&error))
}

fn parse(
    definition: &mut clap::Command,
    arguments: impl IntoIterator<Item = OsString>,
) -> clap::error::Result<Arguments> {
    let matches = definition.try_get_matches_from_mut(arguments)?;
    if let (true, Some(flag)) = (matches.contains_id("resume"), changed(definition, &matches)) {
        let problem = format!("--resume takes the settings of the run: {flag} cannot be given");
        return Err(definition.error(ErrorKind::ArgumentConflict, problem));
    }
    Arguments::from_arg_matches(&matches).map_err(|e| e.format(definition))
}

fn execute(arguments: Arguments, mut definition: clap::Command) -> Result<()> {
    let Arguments { train: settings, run, command } = arguments;
    match (command, settings) {
        (Some(Command::Generate(args)), _) => interruptible(|| generate(args)),
        (Some(Command::Inspect(args)), _) => interruptible(|| inspect(args)),
        (Some(Command::Partition(args)), _) => interruptible(|| partition(*args)),
        (Some(Command::Plan(args)), _) => plan(*args),
        (Some(Command::Predict(args)), _) => predict(args),
        (Some(Command::CorrectAndSmooth(args)), _) => correct_and_smooth(args),
        (Some(Command::Clean(args)), _) => interruptible(|| clean(args)),
        (None, Some(args)) => train(args, run),
        (None, None) if run.resume.is_some() => resume(run),
        // Nothing was asked for: say what can be.
        (None, None) => print(&definition.render_help().to_string()),
    }
}

fn report(error: &Error) -> u8 {
    show(error);
    error.exit_code()
}

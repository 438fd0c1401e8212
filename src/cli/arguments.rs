//! Commands and flags of the command line.

use std::ffi::OsString;
#[cfg(feature = "torch")]
use std::path::Path;

#[cfg(feature = "torch")]
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use super::clean::{CleanArgs, clean};
use super::graphs::export::{ExportArgs, export};
use super::graphs::generate::{GenerateArgs, generate};
use super::graphs::inspect::{InspectArgs, inspect};
use super::graphs::partition::{PartitionArgs, partition};
use super::help::completions::{CompletionsArgs, completions};
use super::help::manual::{ManualArgs, manual};
#[cfg(feature = "torch")]
use super::runs::{
    added::{PredictAddedArgs, predict},
    config_file,
    correct_and_smooth::{CorrectAndSmoothArgs, correct_and_smooth},
    pause::{ContinueArgs, PauseArgs, go_on, pause},
    plan::{PlanArgs, of_flags, plan},
    report::{ReportArgs, report as report_page},
    resume::{changed, resume},
    run_flags::RunArgs,
    status::{StatusArgs, status},
    train::{TrainArgs, declared, train},
    train_files::TrainFilesArgs,
};
use super::signals::interruptible;
#[cfg(not(feature = "torch"))]
use super::without_torch;
use crate::cli::flags::effect;
use crate::cli::flags::fields::note_flags;
use crate::cli::flags::voice::{self, VoiceArgs};
use crate::cli::help::first_page::{self, HelpArgs};
use crate::cli::help::front_door;
use crate::cli::help::tips;
use crate::cli::show::output::{print_usage, show};
use crate::event::{flush, start_log};
use crate::platform::raise_open_files;
use crate::platform::signals;
#[cfg(feature = "torch")]
use crate::run::config::RunConfig;
use crate::words::error::{Error, Result, exit};

/// Train graph neural networks on graphs that do not fit in memory.
///
/// Takes a partition directory, made by `sar-single partition` or dgl.distributed.partition_graph. Starts one worker process
/// per partition, and keeps only as many of them in memory as you allow.
#[derive(Parser)]
#[command(name = "sar-single", version, arg_required_else_help = true)]
#[cfg_attr(not(feature = "torch"), command(about = without_torch::ABOUT, long_about = None))]
#[command(
    args_conflicts_with_subcommands = true,
    args_override_self = true,
    disable_help_flag = true,
    disable_version_flag = true
)]
#[command(allow_negative_numbers = true)]
struct Arguments {
    #[cfg(feature = "torch")]
    #[command(flatten)]
    train: Option<TrainArgs>,
    #[cfg(feature = "torch")]
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    voice: VoiceArgs,
    #[command(flatten)]
    help: HelpArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    Generate(GenerateArgs),
    Inspect(InspectArgs),
    // Boxed, because its many lists of files make it much larger than the others.
    Partition(Box<PartitionArgs>),
    Export(ExportArgs),
    // Boxed, because it has as many flags as training.
    #[cfg(feature = "torch")]
    Plan(Box<PlanArgs>),
    #[cfg(feature = "torch")]
    Train(TrainFilesArgs),
    #[cfg(feature = "torch")]
    Predict(PredictAddedArgs),
    #[cfg(feature = "torch")]
    CorrectAndSmooth(CorrectAndSmoothArgs),
    #[cfg(feature = "torch")]
    Report(ReportArgs),
    Clean(CleanArgs),
    Completions(CompletionsArgs),
    Manual(ManualArgs),
    #[cfg(feature = "torch")]
    Status(StatusArgs),
    #[cfg(feature = "torch")]
    Pause(PauseArgs),
    #[cfg(feature = "torch")]
    Continue(ContinueArgs),
}

/// All commands and flags, as a parser.
pub fn definition() -> clap::Command {
    Arguments::command()
}

/// Runs the command line of this process; returns the exit code.
pub fn run() -> u8 {
    run_from(std::env::args_os())
}

/// Runs a command line whose first word is the program's name; returns the exit code.
pub fn run_from(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let code = carry_out(arguments);
    flush();
    code
}

fn carry_out(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    if let Err(error) = signals::watch() {
        return report(&error);
    }
    if let Err(error) = start_log() {
        return report(&error);
    }
    raise_open_files();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let mut definition = definition();
    #[cfg(feature = "torch")]
    note_flags(&definition, declared().map(|setting| (setting.field, setting.id)));
    #[cfg(not(feature = "torch"))]
    note_flags(&definition, std::iter::empty());
    if arguments.iter().any(|word| word == "-h" || word == "--help") {
        definition = first_page::of(definition);
    }
    let done = match parse(&mut definition, arguments) {
        Ok(arguments) => execute(arguments, definition).map(|()| exit::DONE),
        #[cfg(feature = "torch")]
        Err(Refused::Usage(message))
            if crate::run::is_one_of_several() && message.exit_code() != 0 =>
        {
            Err(crate::run::end_everywhere(one_line(&message)))
        }
        Err(Refused::Usage(message)) if front_door::is_asked_for(&message) => {
            front_door::show();
            Ok(exit::BAD_USAGE)
        }
        Err(Refused::Usage(message)) => print_usage(&message),
        #[cfg(feature = "torch")]
        Err(Refused::Flag(error)) => Err(crate::run::end_everywhere(error)),
        #[cfg(not(feature = "torch"))]
        Err(Refused::Flag(error)) => Err(error),
    };
    done.unwrap_or_else(|error| report(&error))
}

/// The parser's message as an error that ends the run on all machines.
#[cfg(feature = "torch")]
fn one_line(message: &clap::Error) -> Error {
    let text = message.to_string();
    let line = text.lines().next().unwrap_or_default();
    let problem = line.strip_prefix("error: ").unwrap_or(line);
    Error::new(crate::words::error::ErrorKind::Config, problem).with_hint("see `sar-single --help`")
}

/// The configuration of the training run that a command line describes, directly or through a plan. `definition` comes
/// from [`definition`].
///
/// # Errors
/// The parser's message, if the command line cannot be parsed; inside it, the error that `sar-single` would report.
#[cfg(feature = "torch")]
pub fn configuration(
    definition: &mut clap::Command,
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Result<RunConfig>, clap::Error> {
    match parse(definition, arguments) {
        Ok(Arguments { command: None, train, run, .. }) => Ok(of_flags(train, &run)),
        Ok(Arguments { command: Some(Command::Plan(plan)), .. }) => {
            Ok(of_flags(plan.train, &plan.run))
        }
        Ok(_) => {
            let message = "this is not the command line of a training run";
            Err(definition.error(ErrorKind::InvalidSubcommand, message))
        }
        Err(Refused::Usage(message)) => Err(message),
        Err(Refused::Flag(error)) => Ok(Err(error)),
    }
}

/// Reason for refusing a command line.
enum Refused {
    /// The parser refuses it, or the line asks for help.
    Usage(clap::Error),
    /// A flag has no effect.
    Flag(Error),
}

fn parse(
    definition: &mut clap::Command,
    arguments: impl IntoIterator<Item = OsString>,
) -> std::result::Result<Arguments, Refused> {
    #[cfg(not(feature = "torch"))]
    let arguments = without_torch::checked(definition, arguments).map_err(Refused::Usage)?;
    #[cfg(feature = "torch")]
    let mut own;
    #[cfg(feature = "torch")]
    let (definition, arguments) = {
        let words: Vec<OsString> = arguments.into_iter().collect();
        match config_file::with_defaults(definition, &words).map_err(Refused::Flag)? {
            Some(line) => {
                own = line.definition;
                (&mut own, line.words)
            }
            None => (definition, words),
        }
    };
    let matches = definition.try_get_matches_from_mut(&arguments);
    let matches =
        matches.map_err(|error| Refused::Usage(tips::with_tip(error, definition, &arguments)))?;
    let (command, given) = match matches.subcommand() {
        Some((name, given)) => (definition.find_subcommand(name).unwrap_or(definition), given),
        None => (&*definition, &matches),
    };
    voice::set(command.get_name(), given);
    #[cfg(feature = "torch")]
    if let Some(flag) = changed(command, given) {
        let problem = format!("--resume takes the settings of the run: {flag} cannot be passed");
        return Err(Refused::Usage(definition.error(ErrorKind::ArgumentConflict, problem)));
    }
    effect::check(command, given).map_err(Refused::Flag)?;
    let arguments = Arguments::from_arg_matches(&matches);
    let arguments = arguments.map_err(|e| Refused::Usage(e.format(definition)))?;
    #[cfg(feature = "torch")]
    if let Some(Command::Train(files)) = &arguments.command {
        // Mistakes in the second line are reported before the first takes its time.
        for line in [files.partition.clone(), files.training(Path::new("graph.json"))] {
            parse(&mut definition.clone(), line)?;
        }
    }
    Ok(arguments)
}

/// Cuts the graph in the files, and trains on it.
#[cfg(feature = "torch")]
fn train_files(files: &TrainFilesArgs, mut definition: clap::Command) -> Result<()> {
    files.check()?;
    match parse(&mut definition, files.partition.clone()) {
        Ok(Arguments { command: Some(Command::Partition(args)), .. }) => {
            Err(files.start_training(&partition(*args)?))
        }
        Ok(_) => Err(Error::internal("train does not begin with partition")),
        Err(Refused::Usage(message)) => Err(one_line(&message)),
        Err(Refused::Flag(error)) => Err(error),
    }
}

fn execute(arguments: Arguments, definition: clap::Command) -> Result<()> {
    let Some(command) = arguments.command else {
        #[cfg(feature = "torch")]
        match arguments.train {
            Some(args) if arguments.run.resume.is_some() => {
                return resume(arguments.run, Some(args.part_json));
            }
            Some(args) => return train(args, arguments.run),
            None if arguments.run.resume.is_some() => return resume(arguments.run, None),
            None => {}
        }
        // Nothing was requested.
        front_door::show();
        return Ok(());
    };
    match command {
        Command::Generate(args) => generate(args),
        Command::Inspect(args) => interruptible(|| inspect(args)),
        Command::Partition(args) => partition(*args).map(drop),
        Command::Export(args) => interruptible(|| export(&args)),
        #[cfg(feature = "torch")]
        Command::Plan(args) => plan(*args),
        #[cfg(feature = "torch")]
        Command::Train(files) => {
            train_files(&files, definition).map_err(crate::run::end_everywhere)
        }
        #[cfg(feature = "torch")]
        Command::Predict(args) => predict(args),
        #[cfg(feature = "torch")]
        Command::CorrectAndSmooth(args) => correct_and_smooth(args),
        #[cfg(feature = "torch")]
        Command::Report(args) => interruptible(|| report_page(args)),
        Command::Clean(args) => interruptible(|| clean(args)),
        Command::Completions(args) => completions(&args, definition),
        Command::Manual(args) => manual(&args, definition),
        #[cfg(feature = "torch")]
        Command::Status(args) => interruptible(|| status(args)),
        #[cfg(feature = "torch")]
        Command::Pause(args) => interruptible(|| pause(args)),
        #[cfg(feature = "torch")]
        Command::Continue(args) => interruptible(|| go_on(args)),
    }
}

fn report(error: &Error) -> u8 {
    // A run on several machines exits with its first process's code.
    if error.is_reported_elsewhere() {
        return exit::DONE;
    }
    show(error);
    error.exit_code()
}

#[cfg(all(test, feature = "torch"))]
mod tests {
    use super::*;
    use crate::cli::flags::fields::{OTHER_NAMES, with_flags};

    #[test]
    fn fields_become_flags_and_other_names_stay() {
        note_flags(&definition(), declared().map(|setting| (setting.field, setting.id)));
        for (message, shown) in [
            ("‹model.hidden›: must be 1", "--hidden: must be 1"),
            ("use ‹model.norm=layer›", "use --norm layer"),
            ("add ‹sampling›", "add --mode sample"),
            ("name ‹keys.edge_features=KEY›", "name --edge-features-key KEY"),
            ("‹sampling.edge_probability›: is for", "--edge-prob: is for"),
            ("‹ids›: are too many", "ids: are too many"),
        ] {
            assert_eq!(with_flags(message), shown);
        }
    }

    #[test]
    fn every_other_name_is_that_of_a_flag() {
        let definition = definition();
        let known: Vec<_> = definition
            .get_arguments()
            .chain(definition.get_subcommands().flat_map(clap::Command::get_arguments))
            .filter_map(clap::Arg::get_long)
            .collect();
        for (field, flag) in OTHER_NAMES {
            let name = flag.split(' ').next().unwrap();
            assert!(known.contains(&name), "{field} has no flag --{flag}");
        }
    }
}

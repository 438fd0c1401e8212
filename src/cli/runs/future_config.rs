//! Configuration of a training run whose graph is not cut into partitions yet.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, Args, Command, CommandFactory, FromArgMatches, Parser};

use super::config_file;
use super::run_flags::RunArgs;
use super::setting::{Of, Setting};
use super::train::{TrainArgs, declared, described};
use crate::cli::flags::effect;
use crate::cli::help::tips::reworded;
use crate::run::config::RunConfig;
use crate::words::error::{Error, ErrorKind, Result};

/// Command line of a training run.
#[derive(Parser)]
#[command(name = "sar-single", allow_negative_numbers = true)]
struct FutureRun {
    #[command(flatten)]
    train: TrainArgs,
    #[command(flatten)]
    run: RunArgs,
}

/// The flags of a future run, which has neither partitions nor results yet.
pub(in crate::cli) fn flags() -> Vec<Arg> {
    let command = RunArgs::augment_args(TrainArgs::augment_args(Command::new("")));
    let is_left_out =
        |setting: &Setting| setting.of.contains(&Of::Existing) || setting.of.contains(&Of::Results);
    let is_of_future = |arg: &&Arg| {
        let mut left_out = declared().filter(|setting| is_left_out(setting));
        !left_out.any(|setting| arg.get_id() == setting.id)
    };
    command.get_arguments().filter(is_of_future).cloned().collect()
}

/// The configuration that flags describe.
pub(in crate::cli) fn config(flags: Vec<OsString>) -> Result<RunConfig> {
    let none = PathBuf::from("none");
    let mut words = vec!["sar-single".into(), "--part-json=none".into()];
    words.extend(flags);
    let mut definition = FutureRun::command();
    if let Some(line) = config_file::with_defaults(&definition, &words)? {
        (definition, words) = (line.definition, line.words);
    }
    let matches = definition.try_get_matches_from_mut(words);
    let matches = matches.map_err(|e| refused(&reworded(e, &definition)))?;
    effect::check(&definition, &matches)?;
    let FutureRun { train, run } =
        FutureRun::from_arg_matches(&matches).map_err(|e| refused(&e))?;
    described(train, &run, none)
}

/// The parser's message without its usage line, which belongs to another command.
fn refused(error: &clap::Error) -> Error {
    let text = error.to_string();
    let is_problem = |line: &&str| !line.starts_with("Usage:") && !line.starts_with("For more");
    let lines = text.lines().take_while(is_problem);
    let lines: Vec<&str> = lines.map(str::trim).filter(|line| !line.is_empty()).collect();
    let problem = lines.join(" ");
    let problem = problem.strip_prefix("error: ").unwrap_or(&problem);
    Error::new(ErrorKind::Config, problem)
}

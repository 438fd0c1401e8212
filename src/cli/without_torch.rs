//! Answers of a program without libtorch to requests for training.

use std::ffi::OsString;

use clap::error::ErrorKind;

/// First lines of the help.
pub(super) const ABOUT: &str = "Prepare graphs for sar-single: generate, partition, inspect.

This program was built without libtorch. A program with libtorch also trains: build it with `make build` in the sources.";

/// Commands that need libtorch. Flags without a command belong to training.
const COMMANDS: [&str; 8] =
    ["train", "plan", "predict", "correct-and-smooth", "report", "status", "pause", "continue"];

/// Flags of both programs.
const FLAGS: [&str; 10] =
    ["-h", "--help", "--help-all", "-V", "--version", "-q", "--quiet", "-v", "--verbose", "--json"];

/// The arguments, unless only the program with libtorch can carry out the request.
pub(super) fn checked(
    definition: &mut clap::Command,
    arguments: impl IntoIterator<Item = OsString>,
) -> clap::error::Result<Vec<OsString>> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    match needed_by(&arguments) {
        Some(problem) => Err(definition.error(ErrorKind::InvalidSubcommand, problem)),
        None => Ok(arguments),
    }
}

/// Why this program cannot carry out a request that the program with libtorch can. The first argument is the program's
/// name.
fn needed_by(arguments: &[OsString]) -> Option<String> {
    let mut words = arguments.iter().skip(1).map(|word| word.to_str());
    let first = match words.next()?? {
        "help" => words.next()??,
        first => first,
    };
    let what = if COMMANDS.contains(&first) {
        format!("`{first}`")
    } else if first.starts_with('-') && !FLAGS.contains(&first) {
        format!("training (`{first}`)")
    } else {
        return None;
    };
    Some(format!(
        "{what} needs libtorch, but this program was built without it\n\n  tip: build it with the cargo feature `torch`, \
         which is on by default: run `make build` in the sources of sar-single"
    ))
}

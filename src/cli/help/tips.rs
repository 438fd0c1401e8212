//! Tips for unknown names on a command line.

use std::error::Error as _;
use std::ffi::OsString;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};
use std::path::Path;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::guesses::{COMMANDS, FILES, Guess, LETTERS, PARTITION, PREDICTION, TRAINING, VALUES};
use crate::cli::flags::fields::with_flags;
use crate::cli::show::shell_word::shell_word;
use crate::words::error::Error;

/// The error, with a tip if another program uses this name on its command line.
pub(in crate::cli) fn with_tip(
    mut error: clap::Error,
    definition: &Command,
    words: &[OsString],
) -> clap::Error {
    let is_command = |word: &&str| definition.find_subcommand(word).is_some();
    let command = words.get(1).and_then(|word| word.to_str()).filter(is_command);
    if let Some(word) = stray_word(&error, definition) {
        error = clap::Error::new(ErrorKind::UnknownArgument).with_cmd(definition);
        error.insert(ContextKind::InvalidArg, ContextValue::String(word));
    }
    if command == Some("partition") {
        name_all_sources(&mut error);
    }
    let named = |kind| match error.get(kind) {
        Some(ContextValue::String(name)) => Some(name.as_str()),
        _ => None,
    };
    let tip = match error.kind() {
        ErrorKind::InvalidSubcommand => named(ContextKind::InvalidSubcommand).and_then(of_command),
        ErrorKind::UnknownArgument => named(ContextKind::InvalidArg)
            .and_then(|word| of_argument(command, definition, word, words)),
        ErrorKind::InvalidValue => named(ContextKind::InvalidValue).and_then(|value| {
            let valid = match error.get(ContextKind::ValidValue) {
                Some(ContextValue::Strings(valid)) => &valid[..],
                _ => &[],
            };
            of_value(value, valid)
        }),
        ErrorKind::MissingRequiredArgument if command == Some("status") => {
            Some("to see all runs: sar-single status --all".to_owned())
        }
        _ => None,
    };
    let Some(tip) = tip else { return reworded(error, definition) };
    for similar in
        [ContextKind::SuggestedArg, ContextKind::SuggestedValue, ContextKind::SuggestedSubcommand]
    {
        error.remove(similar);
    }
    // Shows the flag that clap finds similar.
    if error.kind() == ErrorKind::UnknownArgument {
        error.remove(ContextKind::Usage);
    }
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    error
}

/// The parser's error, with words for people if its own are those of Rust's numbers, or name a field of the library.
pub(in crate::cli) fn reworded(error: clap::Error, definition: &Command) -> clap::Error {
    match wrong_value(&error) {
        Some(message) => clap::Error::raw(error.kind(), message).with_cmd(definition),
        None => error,
    }
}

fn wrong_value(error: &clap::Error) -> Option<String> {
    let (flag, value) =
        (error.get(ContextKind::InvalidArg)?, error.get(ContextKind::InvalidValue)?);
    let (ContextValue::String(flag), ContextValue::String(value)) = (flag, value) else {
        return None;
    };
    let source = error.source()?;
    let problem = if source.is::<ParseFloatError>() {
        "is not a number".to_owned()
    } else if let Some(number) = source.downcast_ref::<ParseIntError>() {
        let problem = match number.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "is too large",
            _ if value.starts_with('-') => "must not be negative",
            _ => "is not a whole number in digits, such as 1000",
        };
        problem.to_owned()
    } else {
        let own = source.downcast_ref::<Error>()?;
        let marked = own.marked();
        let problem = own.field().and_then(|_| marked.split_once("›: "));
        let problem = with_flags(problem.map_or(&*marked, |(_, problem)| problem));
        let tip = own.marked_hint().map(|hint| format!("\n\n  tip: {}", with_flags(hint)));
        problem + &tip.unwrap_or_default()
    };
    Some(format!("invalid value '{value}' for '{flag}': {problem}"))
}

/// Names all flags for input graphs, where the parser asks for only one of them.
fn name_all_sources(error: &mut clap::Error) {
    let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else { return };
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return;
    }
    let sources = "files of edges, or one of --part-json, --ogb, --chunked, --npz".to_owned();
    let (json, mut rest): (Vec<String>, Vec<String>) =
        missing.iter().cloned().partition(|flag| flag.starts_with("--part-json"));
    if !json.is_empty() {
        rest.insert(0, sources);
        error.insert(ContextKind::InvalidArg, ContextValue::Strings(rest));
        error.remove(ContextKind::Usage);
    }
}

fn found(table: &[Guess], name: &str) -> Option<String> {
    let guess = table.iter().find(|(names, _)| names.split(' ').any(|known| known == name));
    guess.map(|(_, tip)| (*tip).to_owned())
}

fn of_command(word: &str) -> Option<String> {
    let path = Path::new(word);
    if path.extension().is_some_and(|extension| extension == "json") {
        return Some(format!(
            "to train, pass flags without a command: sar-single --part-json {}",
            shell_word(path)
        ));
    }
    if path.join("config.toml").is_file() {
        return Some(format!("to continue a run: sar-single --resume {}", shell_word(path)));
    }
    found(COMMANDS, &word.to_lowercase())
}

fn of_argument(
    command: Option<&str>,
    definition: &Command,
    word: &str,
    words: &[OsString],
) -> Option<String> {
    if let Some(name) = word.strip_prefix("--") {
        let name = name.to_lowercase().replace('_', "-");
        let tables: &[&[Guess]] = match command {
            None | Some("plan") => &[TRAINING],
            Some("train") => &[FILES, PARTITION, TRAINING],
            Some("partition") => &[PARTITION],
            Some("predict" | "correct-and-smooth") => &[PREDICTION],
            Some(_) => &[],
        };
        return tables.iter().find_map(|table| found(table, &name));
    }
    let flags = command.map_or(Some(definition), |name| definition.find_subcommand(name))?;
    if let Some(letter) = word.strip_prefix('-') {
        return of_letters(letter, flags, words);
    }
    if !Path::new(word).exists()
        && let Some(flag) = switch_before(word, flags, words)
    {
        return Some(format!("--{flag} takes no value"));
    }
    match command? {
        name @ ("predict" | "correct-and-smooth") => Some(format!(
            "the run is a flag: sar-single {name} --run {}",
            shell_word(Path::new(word))
        )),
        "plan" => Some(format!(
            "the graph is a flag: sar-single plan --part-json {}",
            shell_word(Path::new(word))
        )),
        _ => None,
    }
}

/// A word after flags that the parser calls a command, although no command has this name.
fn stray_word(error: &clap::Error, definition: &Command) -> Option<String> {
    match error.get(ContextKind::InvalidSubcommand)? {
        ContextValue::String(word) if error.kind() == ErrorKind::ArgumentConflict => {
            definition.find_subcommand(word).is_none().then(|| word.clone())
        }
        _ => None,
    }
}

/// The flag without a value that stands before a word.
fn switch_before<'w>(word: &str, command: &Command, words: &'w [OsString]) -> Option<&'w str> {
    let is_switch = |name: &&str| {
        let mut flags = command.get_arguments().filter(|arg| arg.get_long() == Some(*name));
        flags.any(|arg| !arg.get_action().takes_values())
    };
    let pairs = words.windows(2).filter(|pair| pair[1].to_str() == Some(word));
    pairs.filter_map(|pair| pair[0].to_str()?.strip_prefix("--")).find(is_switch)
}

/// A tip for a flag with one dash, whose first letter the parser has read.
fn of_letters(letter: &str, command: &Command, words: &[OsString]) -> Option<String> {
    let word = words.iter().filter_map(|word| word.to_str()).find_map(|word| {
        let name = word.strip_prefix('-').filter(|name| name.starts_with(letter))?;
        name.split('=').next()
    })?;
    let has = |name: &str| command.get_arguments().any(|arg| arg.get_long() == Some(name));
    if word.len() > 1 && has(word) {
        return Some(format!("flags of more than one letter have two dashes: --{word}"));
    }
    let flag = LETTERS.iter().find(|(letter, flag)| *letter == word && has(flag));
    flag.map(|(_, flag)| format!("use --{flag}"))
}

/// A tip for an unknown value of a flag: a similar value.
fn of_value(value: &str, valid: &[String]) -> Option<String> {
    let plain: String =
        value.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    if let Some(same) = valid.iter().find(|valid| **valid == plain) {
        return Some(format!("use {same}"));
    }
    let of_flag = |(names, tip): &&Guess| {
        names.split(' ').any(|name| name == plain)
            && valid.iter().any(|valid| tip.split(' ').nth(1) == Some(valid))
    };
    VALUES.iter().find(of_flag).map(|(_, tip)| (*tip).to_owned())
}

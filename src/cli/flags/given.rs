//! Flags on a command line.

use std::ffi::{OsStr, OsString};

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches};

/// Whether a flag is on the command line.
pub(in crate::cli) fn is_given(given: &ArgMatches, id: &str) -> bool {
    // Other commands have other flags.
    given.try_contains_id(id).is_ok_and(|known| known)
        && given.value_source(id) == Some(ValueSource::CommandLine)
}

/// Values of a flag on the command line.
pub(in crate::cli) fn values<'a>(
    given: &'a ArgMatches,
    id: &str,
) -> impl Iterator<Item = &'a OsStr> + use<'a> {
    let raw = is_given(given, id).then(|| given.get_raw(id)).flatten();
    raw.into_iter().flatten()
}

/// A flag with a value, as a word of a command line.
pub(in crate::cli) fn word(name: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(format!("--{name}="));
    word.push(value);
    word
}

/// A flag on the command line, by its `id` there, as words of another command line.
pub(in crate::cli) fn words(given: &ArgMatches, arg: &Arg, id: &str) -> Vec<OsString> {
    let name = arg.get_long().unwrap_or_default();
    if arg.get_action().takes_values() {
        return values(given, id).map(|value| word(name, value)).collect();
    }
    is_given(given, id).then(|| format!("--{name}").into()).into_iter().collect()
}

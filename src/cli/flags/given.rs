//! Flags on a command line.

use clap::ArgMatches;
use clap::parser::ValueSource;

/// Whether a flag is on the command line.
pub(in crate::cli) fn is_given(given: &ArgMatches, id: &str) -> bool {
    // Other commands have other flags.
    given.try_contains_id(id).is_ok_and(|known| known)
        && given.value_source(id) == Some(ValueSource::CommandLine)
}

//! Flags that set the amount of output.

use clap::{ArgMatches, Args};

use super::given::is_given;
use crate::event::{Voice, set_voice};

/// Flags of every command.
#[derive(Debug, Args)]
#[allow(dead_code)] // Read from the parser's matches, before anything else.
pub(in crate::cli) struct VoiceArgs {
    /// Show errors and results only
    #[arg(long, global = true, conflicts_with_all = ["verbose", "json"], help_heading = "Output")]
    quiet: bool,
    /// Show more: memory, bytes, turns, and progress every second
    #[arg(long, global = true, conflicts_with = "json", help_heading = "Output")]
    verbose: bool,
    /// Write events to standard output, a JSON object per line
    #[arg(long, global = true, help_heading = "Output")]
    json: bool,
}

/// Commands whose own `--json` makes their answer one JSON object.
const ONE_OBJECT: [&str; 2] = ["inspect", "plan"];

/// Sets the voice of this process from the flags of a command.
pub(in crate::cli) fn set(command: &str, given: &ArgMatches) {
    set_voice(match () {
        () if is_given(given, "quiet") => Voice::Quiet,
        () if is_given(given, "verbose") => Voice::Verbose,
        () if is_given(given, "json") && !ONE_OBJECT.contains(&command) => Voice::Json,
        () => Voice::Usual,
    });
}

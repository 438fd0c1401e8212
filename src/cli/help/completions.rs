//! `completions`: scripts for shells to complete commands and flags.

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use crate::cli::show::output::print;
use crate::words::error::Result;

/// Print a script with which a shell completes commands and flags
///
/// `make install` installs these scripts. For one user: add `source <(sar-single completions bash)` to ~/.bashrc; with zsh, write the
/// script to a file `_sar-single` in a folder of $fpath; with fish, to ~/.config/fish/completions/sar-single.fish.
#[derive(Debug, Args)]
pub(in crate::cli) struct CompletionsArgs {
    /// The shell
    #[arg(value_parser = ["bash", "zsh", "fish"])]
    shell: String,
}

pub(in crate::cli) fn completions(args: &CompletionsArgs, mut definition: Command) -> Result<()> {
    let shell = match args.shell.as_str() {
        "zsh" => Shell::Zsh,
        "fish" => Shell::Fish,
        _ => Shell::Bash,
    };
    let mut script = Vec::new();
    generate(shell, &mut definition, "sar-single", &mut script);
    // In some places of the script for bash, clap_complete takes a hyphen in the program's name for the end of a
    // command.
    print(&String::from_utf8_lossy(&script).replace("sar__subcmd__single", "sar__single"))
}

//! Flags of a future training run, next to `--num-parts auto`.

use std::ffi::OsString;

use clap::builder::OsStringValueParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use super::given::words;
#[cfg(feature = "torch")]
use crate::cli::runs::future_config::flags;

/// Help of the flags shown; all others are accepted.
const SHOWN: [(&str, &str, &str); 3] = [
    (
        "memory-budget",
        "SIZE",
        "With --num-parts auto: memory of all processes of the training run [default: half of free memory]",
    ),
    ("model", "MODEL", "With --num-parts auto: the model that will be trained"),
    ("config", "FILE", "With --num-parts auto: the config.toml of a run like the one to come"),
];

/// Flags of a training run, as the user wrote them, except flags of the command itself.
#[derive(Debug, Default)]
pub(in crate::cli) struct FutureRunArgs {
    words: Vec<OsString>,
}

impl FutureRunArgs {
    /// The first flag.
    pub(in crate::cli) fn first(&self) -> Option<String> {
        let word = self.words.first()?.to_string_lossy().into_owned();
        Some(word.split('=').next().unwrap_or(&word).to_owned())
    }

    /// The flags as words of a command line.
    pub(in crate::cli) fn into_words(self) -> Vec<OsString> {
        self.words
    }

    /// The flags with one more.
    #[must_use]
    pub(in crate::cli) fn with(mut self, flag: Option<String>) -> Self {
        self.words.extend(flag.map(OsString::from));
        self
    }
}

impl Args for FutureRunArgs {
    fn augment_args(command: Command) -> Command {
        let own: Vec<String> =
            command.get_arguments().filter_map(|arg| Some(arg.get_long()?.to_owned())).collect();
        let args = flags().into_iter().filter_map(|flag| {
            let name = flag.get_long().filter(|name| !own.iter().any(|own| own == name))?;
            let shown = SHOWN.iter().find(|(shown, ..)| *shown == name);
            let arg = Arg::new(id(name)).long(name.to_owned()).hide(shown.is_none());
            let arg = arg.help_heading("Partitions");
            let arg = match shown {
                Some((_, value, help)) => arg.value_name(value).help(help),
                None if !flag.get_action().takes_values() => {
                    return Some(arg.action(ArgAction::SetTrue));
                }
                None => arg.allow_hyphen_values(true),
            };
            Some(arg.value_parser(OsStringValueParser::new()))
        });
        let args: Vec<Arg> = args.collect();
        command.args(args)
    }

    fn augment_args_for_update(command: Command) -> Command {
        FutureRunArgs::augment_args(command)
    }
}

impl FromArgMatches for FutureRunArgs {
    fn from_arg_matches(matches: &ArgMatches) -> clap::error::Result<Self> {
        let of_flag = |flag: &Arg| words(matches, flag, &id(flag.get_long().unwrap_or_default()));
        Ok(FutureRunArgs { words: flags().iter().flat_map(of_flag).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> clap::error::Result<()> {
        *self = FutureRunArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The id of a flag, different from the id of the training run's own flag.
fn id(name: &str) -> String {
    format!("run-{name}")
}

/// Flags with which the user reads the refusal of `--num-parts auto` instead of a flag's.
#[cfg(not(feature = "torch"))]
fn flags() -> Vec<Arg> {
    SHOWN.map(|(name, ..)| Arg::new(name).long(name)).into()
}

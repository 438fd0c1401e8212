//! Flags of a future training run, next to `--num-parts auto`.

use std::ffi::OsString;

use clap::builder::OsStringValueParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use super::given::is_given;

/// A flag of a training run.
struct RunFlag {
    name: String,
    is_switch: bool,
}

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
        let flags = flags().into_iter().filter(|flag| !own.contains(&flag.name));
        let args = flags.map(|flag| {
            let shown = SHOWN.iter().find(|(name, ..)| *name == flag.name);
            let arg = Arg::new(id(&flag.name)).long(flag.name).hide(shown.is_none());
            let arg = arg.help_heading("Partitions");
            match shown {
                Some((_, value, help)) => arg.value_name(value).help(help),
                None if flag.is_switch => return arg.action(ArgAction::SetTrue),
                None => arg.allow_hyphen_values(true),
            }
            .value_parser(OsStringValueParser::new())
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
        let mut words = Vec::new();
        for RunFlag { name, is_switch } in flags() {
            let id = id(&name);
            if !is_given(matches, &id) {
                continue;
            }
            let mut word = OsString::from(format!("--{name}"));
            if let Some(value) =
                matches.get_raw(&id).and_then(Iterator::last).filter(|_| !is_switch)
            {
                word.push("=");
                word.push(value);
            }
            words.push(word);
        }
        Ok(FutureRunArgs { words })
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

/// The flags of a future training run.
fn flags() -> Vec<RunFlag> {
    #[cfg(feature = "torch")]
    let args = crate::cli::runs::future_config::flags();
    // With these, the user reads the refusal of `--num-parts auto` instead of a flag's.
    #[cfg(not(feature = "torch"))]
    let args = SHOWN.map(|(name, ..)| Arg::new(name).long(name));
    let flag = |arg: &Arg| {
        let is_switch = !arg.get_action().takes_values();
        Some(RunFlag { name: arg.get_long()?.to_owned(), is_switch })
    };
    args.iter().filter_map(flag).collect()
}

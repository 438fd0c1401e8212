//! `--model`, and the flags that descriptions of models declare.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};
use toml::Value;

use crate::cli::flags::given::is_given;
use crate::nn::{ModelConfig, ModelKind, ModelOption, OptionValues};
use crate::words::error::{Error, ErrorKind, Result};

const MODEL: &str = "model";

/// A flag, and the kinds of models that declare it, each with its own description.
pub(in crate::cli) struct OptionFlag {
    pub(in crate::cli) name: &'static str,
    pub(in crate::cli) declared: Vec<(ModelKind, &'static ModelOption)>,
}

impl OptionFlag {
    /// All flags, in order of declaration.
    pub(in crate::cli) fn all() -> Vec<OptionFlag> {
        let mut flags: Vec<OptionFlag> = Vec::new();
        for kind in ModelKind::all() {
            for option in kind.spec().options {
                let declared = (kind, option);
                match flags.iter_mut().find(|flag| flag.name == option.flag) {
                    Some(flag) => flag.declared.push(declared),
                    None => {
                        flags.push(OptionFlag { name: option.flag, declared: vec![declared] });
                    }
                }
            }
        }
        flags
    }

    /// The option as a kind of model declares it.
    pub(in crate::cli) fn of(&self, kind: ModelKind) -> Option<&'static ModelOption> {
        let same = |(other, _): &&(ModelKind, _)| other.spec().name == kind.spec().name;
        self.declared.iter().find(same).map(|(_, option)| *option)
    }

    /// Names of the kinds of models that declare the flag.
    pub(in crate::cli) fn models(&self) -> String {
        ModelKind::names("and", |kind| self.of(kind).is_some())
    }

    /// The flag's meaning in each model, and the defaults.
    fn help(&self) -> String {
        let mut meanings: Vec<(&str, Vec<&str>)> = Vec::new();
        for (kind, option) in &self.declared {
            match meanings.iter_mut().find(|(help, _)| *help == option.help) {
                Some((_, names)) => names.push(kind.spec().name),
                None => meanings.push((option.help, vec![kind.spec().name])),
            }
        }
        let meanings = meanings.into_iter().enumerate().map(|(i, (help, names))| {
            let names = ModelKind::names("and", |kind| names.contains(&kind.spec().name));
            let (first, rest) = help.split_at(1);
            let first = if i == 0 { first.to_owned() } else { first.to_lowercase() };
            format!("{first}{rest}, for --model {names}")
        });
        let meanings: Vec<_> = meanings.collect();
        let defaults = self.declared.iter().filter_map(|(kind, option)| {
            Some((kind.spec().name, text(option.value(&kind.table().ok()?)?)?))
        });
        let defaults: Vec<_> = defaults.collect();
        let default = match &defaults[..] {
            [] => String::new(),
            [(_, first), others @ ..] if others.iter().all(|(_, other)| other == first) => {
                format!(" [default: {first}]")
            }
            all => {
                let all: Vec<_> =
                    all.iter().map(|(name, value)| format!("{value} for {name}")).collect();
                format!(" [default: {}]", all.join(", "))
            }
        };
        format!("{}{default}", meanings.join("; "))
    }

    fn arg(&self, all: &[OptionFlag]) -> Arg {
        let arg = Arg::new(self.name).long(self.name).help(self.help());
        let [(_, first), ..] = &self.declared[..] else { return arg };
        let arg = match first.values {
            OptionValues::Switch => return arg.action(ArgAction::SetTrue),
            OptionValues::Whole { .. } => arg.value_parser(value_parser!(i64)),
            OptionValues::Share | OptionValues::Probability | OptionValues::Positive => {
                arg.value_parser(value_parser!(f64))
            }
            OptionValues::Words(words) => arg.value_parser(PossibleValuesParser::new(
                words.iter().map(|word| PossibleValue::new(word.name).help(word.help)),
            )),
        };
        let excluded = all
            .iter()
            .filter(|other| other.declared.iter().any(|(_, other)| first.excludes(other)));
        arg.value_name(first.value_name).conflicts_with_all(excluded.map(|other| other.name))
    }
}

/// A default for a help text. Switches, which are off, have none.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Boolean(_) => None,
        Value::String(word) => Some(word.clone()),
        value => Some(value.to_string()),
    }
}

/// The value of a flag.
#[derive(Debug)]
struct GivenOption {
    name: &'static str,
    value: Value,
    /// Whether the flag is on the command line; otherwise its value comes from another run.
    explicit: bool,
}

/// The kind of model that flags describe.
#[derive(Debug)]
pub(in crate::cli) struct KindArgs {
    kind: ModelKind,
    given: Vec<GivenOption>,
}

impl Args for KindArgs {
    fn augment_args(command: Command) -> Command {
        let kinds = ModelKind::all();
        let names = kinds.iter().map(|kind| {
            let spec = kind.spec();
            PossibleValue::new(spec.name).help(spec.about)
        });
        let model = Arg::new(MODEL)
            .long(MODEL)
            .value_name("MODEL")
            .value_parser(PossibleValuesParser::new(names))
            .default_value(ModelConfig::default().kind.spec().name)
            .help("Layer the model is made of");
        let flags = OptionFlag::all();
        command.arg(model).args(flags.iter().map(|flag| flag.arg(&flags)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        KindArgs::augment_args(command)
    }
}

impl FromArgMatches for KindArgs {
    fn from_arg_matches(matches: &ArgMatches) -> clap::error::Result<Self> {
        let name = matches.get_one::<String>(MODEL);
        let kind = name.and_then(|name| ModelKind::named(name));
        let kind = kind.unwrap_or(ModelConfig::default().kind);
        let given = OptionFlag::all().into_iter().filter_map(|flag| {
            let (_, option) = flag.declared.first()?;
            let value = match option.values {
                OptionValues::Switch => matches.get_flag(flag.name).then_some(Value::Boolean(true)),
                OptionValues::Whole { .. } => {
                    matches.get_one::<i64>(flag.name).map(|n| (*n).into())
                }
                OptionValues::Share | OptionValues::Probability | OptionValues::Positive => {
                    matches.get_one::<f64>(flag.name).map(|x| (*x).into())
                }
                OptionValues::Words(_) => {
                    matches.get_one::<String>(flag.name).map(|word| word.as_str().into())
                }
            };
            let explicit = is_given(matches, flag.name);
            Some(GivenOption { name: flag.name, value: value?, explicit })
        });
        Ok(KindArgs { kind, given: given.collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> clap::error::Result<()> {
        *self = KindArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

impl KindArgs {
    /// The kind of model.
    pub(in crate::cli) fn kind(self, edge_weights: bool) -> Result<ModelKind> {
        let KindArgs { kind, given } = self;
        let name = kind.spec().name;
        let mut table = kind.table()?;
        for flag in OptionFlag::all() {
            let Some(GivenOption { value, explicit, .. }) =
                given.iter().find(|given| given.name == flag.name)
            else {
                continue;
            };
            let Some(option) = flag.of(kind) else {
                if !explicit {
                    continue;
                }
                let problem = format!("--{} has no effect with --model {name}", flag.name);
                return Err(Error::new(ErrorKind::Config, problem)
                    .with_hint(format!("leave it out; it is for --model {}", flag.models())));
            };
            // An option on the command line wins over options that exclude it.
            let excluding = kind.spec().options.iter().filter(|other| option.excludes(other));
            let names: Vec<_> = excluding.map(|other| other.flag).collect();
            let is_excluding = |other: &GivenOption| other.explicit && names.contains(&other.name);
            if !explicit && given.iter().any(is_excluding) {
                continue;
            }
            option.check(value)?;
            option.set(&mut table, value.clone());
        }
        ModelKind::from_table(table)?.with_edge_weights(edge_weights)
    }
}

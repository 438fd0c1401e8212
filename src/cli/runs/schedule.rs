//! `--schedule`: how the learning rate changes.

use std::ffi::OsStr;

use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use clap::{Arg, Command, ValueEnum};

use super::settings::Settings;
use crate::nn::Schedule;

/// The schedules, with the names of their settings in PyTorch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScheduleName {
    /// A constant rate
    Constant,
    /// `StepLR`
    #[value(help = "StepLR: times gamma (0.1) every step_size epochs: step,step_size=30,gamma=0.5")]
    Step,
    /// `CosineAnnealingLR`
    #[value(
        help = "CosineAnnealingLR: along half a cosine to min (0) in t_max (--epochs) epochs: cosine,t_max=50,min=1e-5"
    )]
    Cosine,
    /// `ReduceLROnPlateau`
    #[value(
        help = "ReduceLROnPlateau: times factor (0.1) when the validation metric has not improved for more than patience (10) \
                epochs, down to min (0): plateau,factor=0.5,patience=5"
    )]
    Plateau,
}

/// A schedule as a flag describes it.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) enum ScheduleArg {
    /// All of it.
    Whole(Schedule),
    /// Half a cosine down to this rate, at the end of the run.
    CosineToTheEnd {
        /// The smallest rate.
        min: f64,
    },
}

impl ScheduleArg {
    /// The schedule of a run of `epochs` epochs.
    pub(in crate::cli) fn of(self, epochs: u32) -> Schedule {
        match self {
            ScheduleArg::Whole(schedule) => schedule,
            ScheduleArg::CosineToTheEnd { min } => Schedule::Cosine { t_max: epochs, min },
        }
    }
}

/// Parses `NAME,SETTING=VALUE,...`.
#[derive(Clone)]
pub(in crate::cli) struct ScheduleParser;

impl TypedValueParser for ScheduleParser {
    type Value = ScheduleArg;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> clap::error::Result<ScheduleArg> {
        let text = value.to_string_lossy();
        let name = text.split_once(',').map_or(&*text, |(name, _)| name);
        // The parser of names knows tips for names of other programs.
        let name = EnumValueParser::<ScheduleName>::new().parse_ref(command, arg, name.as_ref())?;
        let whole = move |text: &str| {
            of_settings(name, text.split_once(',').map_or("", |(_, settings)| settings))
        };
        whole.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = ScheduleName::value_variants().iter();
        Some(Box::new(names.filter_map(ValueEnum::to_possible_value)))
    }
}

fn of_settings(name: ScheduleName, text: &str) -> Result<ScheduleArg, String> {
    use ScheduleName::{Constant, Cosine, Plateau, Step};
    let known: &[&'static str] = match name {
        Constant => &[],
        Step => &["step_size", "gamma"],
        Cosine => &["t_max", "min"],
        Plateau => &["factor", "patience", "min"],
    };
    if name == Constant && !text.is_empty() {
        return Err("constant has no settings".to_owned());
    }
    let settings = Settings::parse(text, known)?;
    let min = || Ok::<_, String>(settings.get("min")?.unwrap_or(0.0));
    Ok(ScheduleArg::Whole(match name {
        Constant => Schedule::Constant,
        Step => Schedule::Step {
            step_size: settings.get("step_size")?.ok_or("step needs step_size=N, in epochs")?,
            gamma: settings.get("gamma")?.unwrap_or(0.1),
        },
        Cosine => match settings.get("t_max")? {
            Some(t_max) => Schedule::Cosine { t_max, min: min()? },
            None => return Ok(ScheduleArg::CosineToTheEnd { min: min()? }),
        },
        Plateau => Schedule::Plateau {
            factor: settings.get("factor")?.unwrap_or(0.1),
            patience: settings.get("patience")?.unwrap_or(10),
            min: min()?,
        },
    }))
}

/// A schedule as the value of the flag.
pub(in crate::cli) fn value(schedule: Schedule) -> String {
    match schedule {
        Schedule::Constant => "constant".to_owned(),
        Schedule::Step { step_size, gamma } => format!("step,step_size={step_size},gamma={gamma}"),
        Schedule::Cosine { t_max, min } => format!("cosine,t_max={t_max},min={min}"),
        Schedule::Plateau { factor, patience, min } => {
            format!("plateau,factor={factor},patience={patience},min={min}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Schedule, String> {
        let parsed = ScheduleParser.parse_ref(&Command::new(""), None, text.as_ref());
        parsed.map(|schedule| schedule.of(60)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_schedule_is_parsed_as_it_is_written_and_with_pytorchs_names_and_defaults() {
        for (text, schedule) in [
            ("constant", Schedule::Constant),
            ("step,step_size=30", Schedule::Step { step_size: 30, gamma: 0.1 }),
            ("step,gamma=0.5, step-size=3", Schedule::Step { step_size: 3, gamma: 0.5 }),
            ("cosine,min=1e-5", Schedule::Cosine { t_max: 60, min: 1e-5 }),
            ("cosine,T_max=20", Schedule::Cosine { t_max: 20, min: 0.0 }),
            ("plateau", Schedule::Plateau { factor: 0.1, patience: 10, min: 0.0 }),
        ] {
            assert_eq!(parsed(text), Ok(schedule), "{text}");
            assert_eq!(parsed(&value(schedule)), Ok(schedule), "{text}");
        }
    }

    #[test]
    fn a_schedule_that_cannot_be_read_says_what_is_known() {
        for (text, why) in [
            ("step", "step needs step_size=N, in epochs"),
            ("step,every=3", "\"every\" is not a setting: choose from step_size, gamma"),
            ("cosine,50", "\"50\" is not a setting with its value, such as t_max=..."),
            ("cosine,t_max=x", "t_max cannot be \"x\""),
            ("cosine,min=0,min=1", "min is given twice"),
            ("constant,min=0", "constant has no settings"),
            ("linear", "[possible values: constant, step, cosine, plateau]"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}

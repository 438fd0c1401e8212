//! Settings of a run: flags that set the fields of its configuration.

use std::fmt::Display;
use std::path::PathBuf;

use super::paths::absolute;
use crate::engine::tape::Policy;
use crate::nn::ClassWeights;
use crate::run::config::{MemoryBudget, OwnPartitions, TargetTypes};
use crate::train::Fanouts;
use crate::words::choice::Choice;
use crate::words::error::Result;

/// A flag of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// Name, without dashes.
    pub name: String,
    /// Value; `None` for a switch.
    pub value: Option<String>,
}

impl Flag {
    /// The flag with this id.
    pub(in crate::cli) fn new(id: &str, value: Option<String>) -> Self {
        Flag { name: id.replace('_', "-"), value }
    }

    /// The flag as one word of a command line.
    pub fn word(&self) -> String {
        match &self.value {
            Some(value) => format!("--{}={value}", self.name),
            None => format!("--{}", self.name),
        }
    }
}

/// A part of some runs; its settings have no effect in others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Of {
    /// The layers between the first and the last.
    HiddenLayers,
    /// A stack of graph layers.
    Stacks,
    /// Prediction of edges.
    Links,
    /// Batches of nodes or edges, with sampled neighbourhoods.
    Samples,
    /// Neighbours that are drawn for a batch.
    Neighbours,
    /// Everything after the first step's gradients.
    Updates,
    /// The files that a run leaves, and other machines.
    Results,
    /// A graph that has been cut, or an earlier run.
    Existing,
}

/// A flag with its field and the parts of a run that it is about.
#[derive(Debug)]
pub(in crate::cli) struct Setting {
    /// Id of the flag.
    pub(in crate::cli) id: &'static str,
    /// The field of the configuration; without its name if the flag is one of several for a field.
    pub(in crate::cli) field: &'static str,
    /// The parts of a run that it is about.
    pub(in crate::cli) of: &'static [Of],
}

/// Declares a group of flags as clap does, each with the field that it sets and the parts of a run that it is about:
/// `batch_size: Option<usize> => batch_size; Samples`. A flag without a field is left to the code of its group.
macro_rules! settings {
    ($(#[$meta:meta])* $vis:vis struct $Args:ident, fields $prefix:literal of $Config:ty {
        $($(#[$attr:meta])* $flag_vis:vis $flag:ident: $type:ty
            $(=> $place:ident $(.$inner:ident)* $(by $by:path)?)? $(; $($of:ident)+)?,)*
    }) => {
        #[derive(Debug, clap::Args)]
        $(#[$meta])*
        $vis struct $Args {
            $($(#[$attr])* $flag_vis $flag: $type,)*
        }

        impl $Args {
            /// The flags, with their fields and parts of runs.
            pub(super) const SETTINGS: &'static [$crate::cli::runs::setting::Setting] = &[
                $($crate::cli::runs::setting::Setting {
                    id: stringify!($flag),
                    field: concat!($prefix $(, stringify!($place) $(, ".", stringify!($inner))*)?),
                    of: &[$($($crate::cli::runs::setting::Of::$of),+)?],
                },)*
            ];

            /// Sets the fields of the flags that are given or have defaults.
            pub(super) fn set(&self, config: &mut $Config) -> $crate::words::error::Result<()> {
                $($($crate::cli::runs::setting::settings!(
                    @set self.$flag, config.$place $(.$inner)*, $($by)?
                );)?)*
                Ok(())
            }

            /// The flags that set these values.
            pub(super) fn flags(config: &$Config) -> Vec<$crate::cli::runs::setting::Flag> {
                let flags = [
                    $($(<$type as $crate::cli::runs::setting::Sets<_>>::flag(
                        stringify!($flag), &config.$place $(.$inner)*
                    ),)?)*
                ];
                flags.into_iter().flatten().collect()
            }
        }
    };
    (@set $value:expr, $field:expr,) => {
        $crate::cli::runs::setting::Sets::set(&$value, &mut $field)?
    };
    (@set $value:expr, $field:expr, $by:path) => {
        if let Some(value) = &$value {
            $field = Some($by(value.clone())?);
        }
    };
}
pub(super) use settings;

/// A flag's value, which sets a field.
pub(super) trait Sets<Field> {
    /// Sets the field.
    ///
    /// # Errors
    /// If a configuration cannot hold the value.
    fn set(&self, field: &mut Field) -> Result<()>;

    /// The flag that sets this value, if it takes one.
    fn flag(id: &str, field: &Field) -> Option<Flag>;
}

/// A value of flags and of fields.
pub(super) trait FlagValue: Clone {
    /// The value as a configuration holds it.
    ///
    /// # Errors
    /// If a configuration cannot hold it.
    fn held(&self) -> Result<Self> {
        Ok(self.clone())
    }

    /// The flag with this value, if it takes one.
    fn flag(&self, id: &str) -> Option<Flag>;
}

impl<T: FlagValue> Sets<T> for T {
    fn set(&self, field: &mut T) -> Result<()> {
        *field = self.held()?;
        Ok(())
    }

    fn flag(id: &str, field: &T) -> Option<Flag> {
        field.flag(id)
    }
}

impl<T: FlagValue> Sets<T> for Option<T> {
    fn set(&self, field: &mut T) -> Result<()> {
        self.as_ref().map_or(Ok(()), |value| value.set(field))
    }

    fn flag(id: &str, field: &T) -> Option<Flag> {
        field.flag(id)
    }
}

impl<T: FlagValue> Sets<Option<T>> for Option<T> {
    fn set(&self, field: &mut Option<T>) -> Result<()> {
        if let Some(value) = self {
            *field = Some(value.held()?);
        }
        Ok(())
    }

    fn flag(id: &str, field: &Option<T>) -> Option<Flag> {
        field.as_ref()?.flag(id)
    }
}

/// The flag `no_remat`.
impl Sets<Policy> for bool {
    fn set(&self, field: &mut Policy) -> Result<()> {
        *field = if *self { Policy::Retain } else { Policy::Rematerialise };
        Ok(())
    }

    fn flag(id: &str, field: &Policy) -> Option<Flag> {
        (*field == Policy::Retain).flag(id)
    }
}

impl Sets<Option<ClassWeights>> for Option<String> {
    fn set(&self, field: &mut Option<ClassWeights>) -> Result<()> {
        *field = self.as_deref().map(ClassWeights::parse).transpose()?;
        Ok(())
    }

    fn flag(id: &str, field: &Option<ClassWeights>) -> Option<Flag> {
        let text = match field.as_ref()? {
            ClassWeights::Balanced => "balanced".to_owned(),
            ClassWeights::Values(values) => list(values),
        };
        Some(Flag::new(id, Some(text)))
    }
}

impl<T: Choice> FlagValue for T {
    fn flag(&self, id: &str) -> Option<Flag> {
        self.name().map(|name| Flag::new(id, Some(name.to_owned())))
    }
}

/// Each value once.
impl<T: Choice> FlagValue for Vec<T> {
    fn held(&self) -> Result<Self> {
        let mut values = self.clone();
        values.dedup();
        Ok(values)
    }

    fn flag(&self, id: &str) -> Option<Flag> {
        let names: Vec<&str> = self.iter().filter_map(|value| value.name()).collect();
        (!names.is_empty()).then(|| Flag::new(id, Some(names.join(","))))
    }
}

impl FlagValue for bool {
    fn flag(&self, id: &str) -> Option<Flag> {
        self.then(|| Flag::new(id, None))
    }
}

impl FlagValue for PathBuf {
    fn held(&self) -> Result<Self> {
        absolute(self.clone())
    }

    fn flag(&self, id: &str) -> Option<Flag> {
        Some(Flag::new(id, Some(self.display().to_string())))
    }
}

/// Models that draw no neighbours have an empty list.
impl FlagValue for Fanouts {
    fn flag(&self, id: &str) -> Option<Flag> {
        Some(self.to_string()).filter(|text| !text.is_empty()).map(|text| Flag::new(id, Some(text)))
    }
}

macro_rules! as_text {
    ($($type:ty),+) => {
        $(impl FlagValue for $type {
            fn flag(&self, id: &str) -> Option<Flag> {
                Some(Flag::new(id, Some(self.to_string())))
            }
        })+
    };
}
as_text!(u32, u64, usize, i64, f64, String, MemoryBudget, OwnPartitions, TargetTypes);

/// Values, separated by commas.
fn list<T: Display>(values: &[T]) -> String {
    values.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}

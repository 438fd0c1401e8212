//! Flags of the learning-rate schedule.

use clap::{Args, ValueEnum};

use crate::error::{Error, Result};
use crate::nn::Schedule;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScheduleName {
    /// A constant rate
    Constant,
    /// StepLR: times --lr-gamma every --lr-step-size epochs
    Step,
    /// CosineAnnealingLR: along half a cosine to --lr-min in --lr-t-max epochs
    Cosine,
    /// ReduceLROnPlateau: times --lr-factor when the validation metric has not improved for more than --lr-patience epochs
    Plateau,
}

/// Flags of a schedule; each belongs to the schedules its help names.
#[derive(Debug, Args)]
pub(super) struct ScheduleArgs {
    /// How the learning rate changes, as in PyTorch
    #[arg(long, value_enum, default_value_t = ScheduleName::Constant, help_heading = "Training")]
    schedule: ScheduleName,
    /// step: epochs between changes
    #[arg(long, value_name = "N", help_heading = "Training")]
    lr_step_size: Option<u32>,
    /// step: the factor [default: 0.1]
    #[arg(long, value_name = "F", help_heading = "Training")]
    lr_gamma: Option<f64>,
    /// cosine: epochs from the largest to the smallest rate [default: --epochs]
    #[arg(long, value_name = "N", help_heading = "Training")]
    lr_t_max: Option<u32>,
    /// cosine, plateau: the smallest rate [default: 0]
    #[arg(long, value_name = "RATE", help_heading = "Training")]
    lr_min: Option<f64>,
    /// plateau: the factor [default: 0.1]
    #[arg(long, value_name = "F", help_heading = "Training")]
    lr_factor: Option<f64>,
    /// plateau: epochs to wait for a better metric [default: 10]
    #[arg(long, value_name = "N", help_heading = "Training")]
    lr_patience: Option<u32>,
}

impl ScheduleArgs {
    /// The schedule of these flags, for a run of `epochs` epochs.
    ///
    /// # Errors
    /// If a flag is missing.
    pub(super) fn schedule(&self, epochs: u32) -> Result<Schedule> {
        use ScheduleName::{Cosine, Plateau, Step};
        Ok(match self.schedule {
            ScheduleName::Constant => Schedule::Constant,
            Step => Schedule::Step {
                step_size: self.lr_step_size.ok_or_else(|| {
                    Error::config("schedule", "step needs --lr-step-size N, in epochs")
                })?,
                gamma: self.lr_gamma.unwrap_or(0.1),
            },
            Cosine => Schedule::Cosine {
                t_max: self.lr_t_max.unwrap_or(epochs),
                min: self.lr_min.unwrap_or(0.0),
            },
            Plateau => Schedule::Plateau {
                factor: self.lr_factor.unwrap_or(0.1),
                patience: self.lr_patience.unwrap_or(10),
                min: self.lr_min.unwrap_or(0.0),
            },
        })
    }
}

//! Learning-rate schedules, with PyTorch's formulas, stepped once per epoch.

use serde::{Deserialize, Serialize};

use crate::words::error::{Error, Result};

/// How the learning rate changes from epoch to epoch.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "name")]
pub enum Schedule {
    /// A constant rate.
    #[default]
    Constant,
    /// `StepLR`: the rate is multiplied by gamma every `step_size` epochs.
    Step {
        /// Number of epochs between changes.
        step_size: u32,
        /// Factor of each change.
        gamma: f64,
    },
    /// `CosineAnnealingLR` (Loshchilov and Hutter 2017): min + (lr - min) (1 + cos(π t / t_max)) / 2 after t epochs.
    Cosine {
        /// Number of epochs from the largest to the smallest rate.
        t_max: u32,
        /// The smallest rate.
        min: f64,
    },
    /// `ReduceLROnPlateau`: the rate is multiplied by `factor` when the validation metric has not improved, by a ten-thousandth
    /// of its value, for more than `patience` epochs.
    Plateau {
        /// Factor of each change.
        factor: f64,
        /// Number of epochs without an improvement.
        patience: u32,
        /// The smallest rate.
        min: f64,
    },
}

/// PyTorch's `threshold`: the relative change that counts as an improvement.
const THRESHOLD: f64 = 1e-4;
/// PyTorch's `eps`: smaller changes of the rate are skipped.
const SMALLEST_CHANGE: f64 = 1e-8;

impl Schedule {
    /// Whether the schedule depends on the validation metric.
    pub fn needs_validation(self) -> bool {
        matches!(self, Schedule::Plateau { .. })
    }

    /// Checks the schedule's constants.
    ///
    /// # Errors
    /// The first invalid constant, by the name of its flag.
    pub fn check(self) -> Result<()> {
        let positive = |name, value: f64| {
            if value > 0.0 && value.is_finite() {
                return Ok(());
            }
            Err(Error::config(name, format!("must be above 0, not {value}")))
        };
        let at_least = |name, value: f64, least: f64| {
            if value >= least && value.is_finite() {
                return Ok(());
            }
            Err(Error::config(name, format!("must be {least} or more, not {value}")))
        };
        match self {
            Schedule::Constant => Ok(()),
            Schedule::Step { step_size, gamma } => {
                at_least("schedule.step_size", f64::from(step_size), 1.0)?;
                positive("schedule.gamma", gamma)
            }
            Schedule::Cosine { t_max, min } => {
                at_least("schedule.t_max", f64::from(t_max), 1.0)?;
                at_least("schedule.min", min, 0.0)
            }
            Schedule::Plateau { factor, min, .. } => {
                positive("schedule.factor", factor)?;
                if factor >= 1.0 {
                    return Err(Error::config("schedule.factor", "must be below 1"));
                }
                at_least("schedule.min", min, 0.0)
            }
        }
    }
}

/// The validation metric of an epoch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValidationScore {
    /// Value of the metric.
    pub value: f64,
    /// Whether larger values are better.
    pub more_is_better: bool,
}

impl ValidationScore {
    /// Whether the value is better than the best one so far by more than this fraction of it.
    pub(crate) fn beats(self, best: Option<f64>, fraction: f64) -> bool {
        match best {
            None => self.value.is_finite(),
            Some(best) if self.more_is_better => self.value > best * (1.0 + fraction),
            Some(best) => self.value < best * (1.0 - fraction),
        }
    }
}

/// A learning rate that follows a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LearningRate {
    base: f64,
    current: f64,
    epochs: u32,
    /// Best validation metric so far, and the number of epochs since.
    best: Option<f64>,
    without_better: u32,
}

impl LearningRate {
    /// Creates the learning rate, at its value in the first epoch.
    ///
    /// # Errors
    /// If a constant of the schedule is invalid.
    pub fn new(base: f64, schedule: Schedule) -> Result<Self> {
        schedule.check()?;
        Ok(LearningRate { base, current: base, epochs: 0, best: None, without_better: 0 })
    }

    /// Learning rate of the next epoch.
    pub fn current(&self) -> f64 {
        self.current
    }

    /// Ends an epoch. `validation` is the validation metric, for schedules that depend on it.
    pub fn step(&mut self, schedule: Schedule, validation: Option<ValidationScore>) {
        self.epochs += 1;
        match schedule {
            Schedule::Constant => {}
            Schedule::Step { step_size, gamma } => {
                self.current = self.base * gamma.powf(f64::from(self.epochs / step_size));
            }
            Schedule::Cosine { t_max, min } => {
                let angle = std::f64::consts::PI * f64::from(self.epochs) / f64::from(t_max);
                self.current = min + (self.base - min) * (1.0 + angle.cos()) / 2.0;
            }
            Schedule::Plateau { factor, patience, min } => {
                if let Some(validation) = validation {
                    self.plateau(validation, factor, patience, min);
                }
            }
        }
    }

    fn plateau(&mut self, validation: ValidationScore, factor: f64, patience: u32, min: f64) {
        if validation.beats(self.best, THRESHOLD) {
            self.best = Some(validation.value);
            self.without_better = 0;
        } else {
            self.without_better += 1;
        }
        if self.without_better > patience {
            self.without_better = 0;
            let reduced = (self.current * factor).max(min);
            if self.current - reduced > SMALLEST_CHANGE {
                self.current = reduced;
            }
        }
    }
}

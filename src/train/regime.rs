//! Hyperparameters of training.

use super::evaluation_config::Keep;
use crate::nn::{OptimizerConfig, Schedule};
use crate::words::error::{Error, Result};

/// Hyperparameters of training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Regime {
    /// The optimizer.
    pub optimizer: OptimizerConfig,
    /// The schedule of its learning rate.
    pub schedule: Schedule,
    /// Maximum norm of the gradient, if it is clipped.
    pub clip_norm: Option<f64>,
    /// Number of epochs without a better validation score after which training stops; `None` disables early stopping.
    pub patience: Option<u32>,
    /// Number of epochs between evaluations; `None` evaluates every epoch if epochs are compared, otherwise none.
    pub evaluate_every: Option<u32>,
    /// Final weights; `None` means the best ones with early stopping, otherwise the last ones.
    pub keep: Option<Keep>,
}

impl Regime {
    /// Whether training ends with the weights of the best epoch.
    pub fn keeps_best(&self) -> bool {
        self.keep.map_or(self.patience.is_some(), |keep| keep == Keep::Best)
    }

    /// Whether epochs are compared by the validation score.
    pub fn compares_epochs(&self) -> bool {
        self.patience.is_some() || self.schedule.needs_validation() || self.keeps_best()
    }

    /// Whether epochs are evaluated at all.
    pub fn evaluates_epochs(&self) -> bool {
        self.evaluate_every.is_some() || self.compares_epochs()
    }

    /// Whether this epoch (from 1) is evaluated. The decision does not depend on the number of epochs, which a resumed
    /// run may increase.
    pub(super) fn evaluates(&self, epoch: u32) -> bool {
        match self.evaluate_every {
            Some(every) => epoch.is_multiple_of(every),
            None => self.compares_epochs(),
        }
    }

    /// Checks the constants, and that epochs can be compared if necessary.
    pub(super) fn check(&self, has_validation: bool, what: &str, field: &str) -> Result<()> {
        if self.clip_norm.is_some_and(|norm| !(norm > 0.0 && norm.is_finite())) {
            return Err(Error::config("clip_norm", "must be above 0 and finite"));
        }
        if self.patience == Some(0) {
            return Err(Error::config("patience", "must be 1 or more"));
        }
        if self.evaluate_every == Some(0) {
            return Err(Error::config("evaluation.every", "must be 1 or more"));
        }
        if self.compares_epochs() && !has_validation {
            let judge = match self.patience {
                Some(_) => "patience",
                None if self.schedule.needs_validation() => "schedule",
                None => "evaluation.keep",
            };
            let problem = format!("there are no validation {what} to compare epochs by");
            return Err(Error::config(judge, problem).with_hint(format!("name them with {field}")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_are_evaluated_where_they_are_compared_or_as_often_as_asked() {
        let plain = Regime {
            optimizer: OptimizerConfig::default(),
            schedule: Schedule::Constant,
            clip_norm: None,
            patience: None,
            evaluate_every: None,
            keep: None,
        };
        let plateau = Schedule::Plateau { factor: 0.1, patience: 1, min: 0.0 };
        let epochs = |regime: Regime| (1..=4).filter(|e| regime.evaluates(*e)).collect::<Vec<_>>();
        assert_eq!(epochs(plain), [0_u32; 0]);
        assert_eq!(epochs(Regime { keep: Some(Keep::Last), ..plain }), [0_u32; 0]);
        assert_eq!(epochs(Regime { evaluate_every: Some(3), ..plain }), [3]);
        for compared in [
            Regime { patience: Some(5), ..plain },
            Regime { schedule: plateau, ..plain },
            Regime { keep: Some(Keep::Best), ..plain },
        ] {
            assert_eq!(epochs(compared), [1, 2, 3, 4]);
            assert_eq!(epochs(Regime { evaluate_every: Some(2), ..compared }), [2, 4]);
        }
        assert!(Regime { patience: Some(5), ..plain }.keeps_best());
        assert!(!Regime { patience: Some(5), keep: Some(Keep::Last), ..plain }.keeps_best());
    }
}

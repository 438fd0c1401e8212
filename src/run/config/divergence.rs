//! Loss or model of a run that is not finite.

use super::run_config::RunConfig;
use crate::words::error::{Error, ErrorKind};

/// The value that is not finite, and its epoch.
pub(crate) enum Divergence {
    /// The loss of an epoch.
    Loss { epoch: u32, loss: f64 },
    /// The model after an epoch's update.
    Model { epoch: u32 },
}

impl Divergence {
    /// The note for a run that continues.
    pub(crate) fn note(&self) -> String {
        let rest = "no checkpoint and no weights of these epochs are written while the model is not finite";
        format!("{}; {rest}", self.problem())
    }

    /// The error for a run that stops.
    pub(crate) fn error(&self, config: &RunConfig) -> Error {
        let remedy = match config.clip_norm {
            None => "lower ‹optimizer.lr›, or set ‹clip_norm=1›",
            Some(_) => "lower ‹optimizer.lr› or ‹clip_norm›",
        };
        let hint = format!(
            "{remedy}, and start a new run: ‹resume› would diverge at the same epoch. \
             ‹on_nan=go-on› continues with values that are not finite"
        );
        Error::new(ErrorKind::Diverged, self.problem()).with_hint(hint)
    }

    fn problem(&self) -> String {
        match self {
            Divergence::Loss { epoch, loss } => format!("the loss of epoch {epoch} is {loss}"),
            Divergence::Model { epoch } => {
                format!("the weights are not finite after the update of epoch {epoch}")
            }
        }
    }
}

//! Reaction to a loss that is not finite.

use serde::{Deserialize, Serialize};

use crate::choice::{Choice, Named};

/// Reaction of a run to a loss that is NaN or infinite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnNan {
    /// The run ends with an error
    #[default]
    Stop,
    /// The run continues; neither a checkpoint nor weights are written while the model is not finite
    GoOn,
}

impl Choice for OnNan {
    const VALUES: &'static [Named<Self>] = &[
        Named::new(OnNan::Stop, "stop", "The run ends with an error"),
        Named::new(
            OnNan::GoOn,
            "go-on",
            "The run continues; neither a checkpoint nor weights are written while the model is not finite",
        ),
    ];
}

//! Reaction to a loss that is not finite.

use serde::{Deserialize, Serialize};

use crate::words::choice::choices;

choices! {
    /// Reaction of a run to a loss that is NaN or infinite.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum OnNan {
        /// The run ends with an error
        @default Stop = "stop",
        /// The run continues; neither checkpoints nor weights of epochs are written whose model is not finite
        GoOn = "go-on",
    }
}

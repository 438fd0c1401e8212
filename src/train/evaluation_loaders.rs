//! The loaders of nodes that are evaluated on sampled neighbourhoods.

use crate::sampling::loaders::DataLoader;

/// The loaders of the nodes that are evaluated between epochs.
pub struct EvaluationLoaders {
    /// Loader of the validation nodes.
    pub val: DataLoader,
    /// Loader of the test nodes.
    pub test: DataLoader,
}

//! Loaders of nodes for evaluations on sampled neighbourhoods.

use crate::sampling::loaders::DataLoader;

/// Loaders of the nodes that are evaluated between epochs.
pub struct EvaluationLoaders {
    /// Loader of the validation nodes.
    pub val: DataLoader,
    /// Loader of the test nodes.
    pub test: DataLoader,
}

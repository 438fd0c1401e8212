//! Loaders of training for link prediction.

use crate::sampling::loaders::DistEdgeDataLoader;

/// Loaders of a rank's edges.
pub struct LinkLoaders {
    /// Loader of the training edges.
    pub train: DistEdgeDataLoader,
    /// Loader of the validation edges.
    pub val: DistEdgeDataLoader,
    /// Loader of the test edges, predicted at the end.
    pub test: DistEdgeDataLoader,
}

//! Interface of the kinds of random graphs.

/// A random graph whose classes and pairs of neighbours are pure functions.
pub(super) trait RandomGraph: Sync {
    /// The two ends of a pair, which are different nodes.
    fn pair(&self, index: u64) -> (u64, u64);

    /// The class of a node's place in the graph, which most nodes have.
    fn class_of_place(&self, node: u64) -> u64;

    /// Fraction of nodes with another class than their place.
    fn outliers(&self) -> f64;

    /// How clearly features show the class; see [`Features`](super::features::Features).
    fn signal(&self) -> f64;
}

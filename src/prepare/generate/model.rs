//! The interface of the kinds of graphs.

/// A random graph whose pairs of neighbours and classes are pure functions.
pub(super) trait RandomGraph: Sync {
    /// The two ends of a pair, which differ.
    fn pair(&self, index: u64) -> (u64, u64);

    /// The class of a node's place in the graph; most nodes have it.
    fn class_of_place(&self, node: u64) -> u64;

    /// Fraction of the nodes that have another class than their place.
    fn outliers(&self) -> f64;

    /// How clearly features show the class; see [`Features`](super::features::Features).
    fn signal(&self) -> f64;
}

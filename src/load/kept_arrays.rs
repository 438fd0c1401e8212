//! Arrays of a partitioned graph that a prediction uses.

use super::keys::{DataKeys, FEATURES, LABELS, find_mask};
use crate::formats::dgl::{Feature, Partition};
use crate::words::error::Result;

/// Names of the arrays of nodes and edges.
#[derive(Clone, Debug, Default)]
pub struct KeptArrays {
    /// Features of each node type, if it has any.
    pub features: Vec<Option<String>>,
    /// Labels of each node type, if it has any.
    pub labels: Vec<Option<String>>,
    /// Masks of nodes.
    pub masks: Vec<String>,
    /// Weights and features of edges, by edge type.
    pub edges: Vec<Vec<String>>,
}

impl KeptArrays {
    /// The arrays that keys select.
    ///
    /// # Errors
    /// If a key matches no array, or several.
    pub fn of(partition: &Partition, keys: &DataKeys) -> Result<Self> {
        let (book, set) = (partition.book(), partition.node_features());
        let ntypes = book.ntypes().len();
        let by_type = |found: Option<Vec<Option<&Feature>>>| -> Vec<Option<String>> {
            found.map_or_else(|| vec![None; ntypes], |found| names(&found))
        };
        let mut masks = Vec::new();
        for (name, key) in keys.masks() {
            masks.extend(by_type(find_mask(set, key, name)?).into_iter().flatten());
        }
        let mut edges = vec![Vec::new(); book.etypes().len()];
        for key in [&keys.edge_weight, &keys.edge_features].into_iter().flatten() {
            let found = names(&partition.edge_features().lookup(key)?);
            for (own, name) in edges.iter_mut().zip(found) {
                own.extend(name);
            }
        }
        for own in &mut edges {
            own.dedup();
        }
        Ok(KeptArrays {
            features: by_type(FEATURES.find(set, keys.features.as_deref())?),
            labels: by_type(LABELS.find(set, keys.labels.as_deref())?),
            masks,
            edges,
        })
    }
}

fn names(found: &[Option<&Feature>]) -> Vec<Option<String>> {
    found.iter().map(|feature| feature.map(|feature| feature.name().to_owned())).collect()
}

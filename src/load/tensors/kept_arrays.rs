//! The arrays of a partitioned graph that keys select.

use super::features::FEATURES;
use super::labels::LABELS;
use crate::error::Result;
use crate::formats::dgl::{Feature, FeatureSet, Partition};
use crate::load::KeptArrays;
use crate::load::keys::{DataKeys, Role};

impl KeptArrays {
    /// The arrays that keys select.
    ///
    /// # Errors
    /// If a key matches no array, or several.
    pub fn of(partition: &Partition, keys: &DataKeys) -> Result<Self> {
        let (book, set) = (partition.book(), partition.node_features());
        let ntypes = book.ntypes().len();
        let find = |role: &Role<'_>, key: Option<&str>| -> Result<Vec<Option<String>>> {
            Ok(role.find(set, key)?.map_or_else(|| vec![None; ntypes], |found| names(&found)))
        };
        let masks = [
            ("train_mask", &keys.train_mask),
            ("val_mask", &keys.val_mask),
            ("test_mask", &keys.test_mask),
        ];
        let masks = masks.map(|(name, key)| {
            let role = Role { what: "mask", field: name, usual: &[name] };
            find(&role, key.as_deref())
        });
        let masks = masks.into_iter().collect::<Result<Vec<_>>>()?;
        let mut edges = vec![Vec::new(); book.etypes().len()];
        for key in [&keys.edge_weight, &keys.edge_features].into_iter().flatten() {
            let found = of_edges(partition.edge_features(), key)?;
            for (own, name) in edges.iter_mut().zip(found) {
                own.extend(name);
            }
        }
        for own in &mut edges {
            own.dedup();
        }
        Ok(KeptArrays {
            features: find(&FEATURES, keys.features.as_deref())?,
            labels: find(&LABELS, keys.labels.as_deref())?,
            masks: masks.into_iter().flatten().flatten().collect(),
            edges,
        })
    }
}

fn of_edges(set: &FeatureSet, key: &str) -> Result<Vec<Option<String>>> {
    Ok(names(&set.lookup(key)?))
}

fn names(found: &[Option<&Feature>]) -> Vec<Option<String>> {
    found.iter().map(|feature| feature.map(|feature| feature.name().to_owned())).collect()
}

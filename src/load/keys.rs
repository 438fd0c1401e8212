//! Keys of a partition's arrays.

use serde::{Deserialize, Serialize};

use crate::formats::dgl::{Feature, FeatureSet};
use crate::words::error::{Error, Result};

/// Usual names of node features.
pub(crate) const FEATURE_NAMES: [&str; 2] = ["feat", "features"];

/// Usual names of node labels.
pub(crate) const LABEL_NAMES: [&str; 2] = ["label", "labels"];

/// Usual names of the masks of training, validation and test.
pub(crate) const MASKS: [&str; 3] = ["train_mask", "val_mask", "test_mask"];

pub(super) const FEATURES: Role<'_> =
    Role { what: "node features", field: "keys.features", usual: &FEATURE_NAMES };
pub(super) const LABELS: Role<'_> =
    Role { what: "node labels", field: "keys.labels", usual: &LABEL_NAMES };

/// Keys of a partition's arrays; `None` tries the usual names. As in SAR, a key matches by its end: see
/// [`FeatureSet::lookup`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DataKeys {
    /// Node features; usually `feat` or `features`.
    pub features: Option<String>,
    /// Node labels; usually `label` or `labels`.
    pub labels: Option<String>,
    /// Mask of the training nodes; usually `train_mask`.
    pub train_mask: Option<String>,
    /// Mask of the validation nodes; usually `val_mask`.
    pub val_mask: Option<String>,
    /// Mask of the test nodes; usually `test_mask`.
    pub test_mask: Option<String>,
    /// Edge weights; no usual name.
    pub edge_weight: Option<String>,
    /// Edge features; no usual name.
    pub edge_features: Option<String>,
}

impl DataKeys {
    /// Usual names and keys of the masks of training, validation and test.
    pub(crate) fn masks(&self) -> [(&'static str, Option<&str>); 3] {
        let [train, val, test] = MASKS;
        [
            (train, self.train_mask.as_deref()),
            (val, self.val_mask.as_deref()),
            (test, self.test_mask.as_deref()),
        ]
    }
}

/// Arrays, by type, of the mask that is usually called `name`: see [`Role::find`].
pub(super) fn find_mask<'a>(
    features: &'a FeatureSet,
    key: Option<&str>,
    name: &str,
) -> Result<Option<Vec<Option<&'a Feature>>>> {
    Role { what: "mask", field: &format!("keys.{name}"), usual: &[name] }.find(features, key)
}

/// Purpose of an array: its name in messages, the field with its key, and the usual keys.
pub(super) struct Role<'r> {
    pub(super) what: &'r str,
    pub(super) field: &'r str,
    pub(super) usual: &'r [&'r str],
}

impl Role<'_> {
    /// Arrays, by type, that `key` selects; without a key, those with a usual name, or `None` if there are none.
    pub(super) fn find<'a>(
        &self,
        features: &'a FeatureSet,
        key: Option<&str>,
    ) -> Result<Option<Vec<Option<&'a Feature>>>> {
        if let Some(key) = key {
            return features.lookup(key).map(Some);
        }
        let named =
            |name: &&&str| features.features().iter().any(|feature| feature.name() == **name);
        let usual: Vec<_> = self.usual.iter().filter(named).collect();
        match usual[..] {
            [] => Ok(None),
            [name] => features.lookup(name).map(Some),
            _ => {
                let problem = format!("several arrays could be the {}: {usual:?}", self.what);
                let hint = format!("choose one with ‹{}=KEY›", self.field);
                Err(Error::input(features.path(), "", problem).with_hint(hint))
            }
        }
    }

    /// Like [`find`](Role::find), for a required array.
    pub(super) fn require<'a>(
        &self,
        features: &'a FeatureSet,
        key: Option<&str>,
    ) -> Result<Vec<Option<&'a Feature>>> {
        self.find(features, key)?.ok_or_else(|| {
            let problem = format!("holds no {} ({})", self.what, self.usual.join(" or "));
            Error::input(features.path(), "", problem).with_hint(self.remedy(features))
        })
    }

    /// The hint for a required array that does not exist. It leaves out arrays with the usual name of another purpose.
    fn remedy(&self, features: &FeatureSet) -> String {
        let arrays = features.features();
        let usual = [&FEATURE_NAMES[..], &LABEL_NAMES, &MASKS].concat();
        let others = arrays.iter().filter(|array| !usual.contains(&array.name()));
        let mut keys: Vec<&str> = others.map(Feature::key).collect();
        keys.sort_unstable();
        let hint = if keys.is_empty() {
            let name = self.usual.first().unwrap_or(&"NAME");
            let further = if arrays.is_empty() { "" } else { "further " };
            format!(
                "the graph has no {further}node data: add {} with ‹node_data={name}=FILE› of `sar-single partition`",
                self.what
            )
        } else {
            format!(
                "choose an array with ‹{}=KEY›; the file holds: {}",
                self.field,
                keys.join(", ")
            )
        };
        if self.usual == FEATURE_NAMES {
            hint + "; or learn a row for every node with ‹relations=sum›"
        } else {
            hint
        }
    }
}

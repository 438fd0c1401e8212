//! Which arrays of a partition hold what.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::formats::dgl::{Feature, FeatureSet};

/// Keys of a partition's arrays; where none is given, the usual names are looked for. A key is matched as SAR does, by
/// its end: see [`FeatureSet::lookup`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DataKeys {
    /// Node features; `feat` or `features`.
    pub features: Option<String>,
    /// Node labels; `label` or `labels`.
    pub labels: Option<String>,
    /// Nodes to train on; `train_mask`.
    pub train_mask: Option<String>,
    /// Nodes of the validation accuracy; `val_mask`.
    pub val_mask: Option<String>,
    /// Nodes of the test accuracy; `test_mask`.
    pub test_mask: Option<String>,
    /// Edge weights; none.
    pub edge_weight: Option<String>,
}

/// What an array is for: how messages call it, which flag names it, and which names are usual.
pub(super) struct Role<'r> {
    pub(super) what: &'r str,
    pub(super) flag: &'r str,
    pub(super) usual: &'r [&'r str],
}

impl Role<'_> {
    /// The features of the partition's types that `key`, or else a usual name, means. `None` if no key is given and
    /// nothing has a usual name.
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
                let hint = format!("say which with {} KEY", self.flag);
                Err(Error::input(features.path(), "", problem).with_hint(hint))
            }
        }
    }

    /// [`find`](Role::find) for what a run cannot do without.
    pub(super) fn require<'a>(
        &self,
        features: &'a FeatureSet,
        key: Option<&str>,
    ) -> Result<Vec<Option<&'a Feature>>> {
        self.find(features, key)?.ok_or_else(|| {
            let mut keys: Vec<_> = features.features().iter().map(Feature::key).collect();
            keys.sort_unstable();
            let problem = format!("holds no {} ({})", self.what, self.usual.join(" or "));
            let hint = format!("say which with {} KEY; it holds: {}", self.flag, keys.join(", "));
            Error::input(features.path(), "", problem).with_hint(hint)
        })
    }
}

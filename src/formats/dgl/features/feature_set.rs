//! Features of a partition's nodes or edges, by key.

use super::feature::Feature;
use crate::formats::dgl::tensor_file::TensorFile;
use crate::words::error::{Error, Result};
use std::path::{Path, PathBuf};

/// Types that features may belong to: prefixes of keys and number of rows, by type.
pub(crate) struct TypeRows {
    pub(crate) prefixes: Vec<String>,
    pub(crate) rows: u64,
}

/// All features of one side (nodes or edges) of a partition.
#[derive(Clone, Debug)]
pub struct FeatureSet {
    path: PathBuf,
    num_types: usize,
    features: Vec<Feature>,
    /// The structure file, if it lacks edge ids.
    without_ids: Option<PathBuf>,
}

impl FeatureSet {
    /// Reads the headers of a feature file and assigns each key to a type. `without_ids` is the structure file, if it
    /// lacks the edge ids that the rows belong to.
    pub(crate) fn open(
        path: &Path,
        types: &[TypeRows],
        without_ids: Option<PathBuf>,
    ) -> Result<Self> {
        let file = TensorFile::open(path)?;
        let mut features: Vec<Feature> = Vec::with_capacity(file.entries().len());
        for (key, array) in file.entries() {
            let (ty, name) = split_key(key, types).ok_or_else(|| {
                Error::input(path, key, "does not belong to any type of the JSON file")
            })?;
            let rows = types[ty].rows;
            if array.shape().first() != Some(&rows) {
                let problem = format!(
                    "has shape {:?}, but the JSON file requires {rows} rows",
                    array.shape()
                );
                return Err(Error::input(path, key, problem));
            }
            if features.iter().any(|other| other.ty == ty && other.name == name) {
                return Err(Error::input(path, key, "names the same feature as another key"));
            }
            let (key, name) = (key.clone(), name.to_owned());
            features.push(Feature { ty, key, name, array: array.clone() });
        }
        Ok(FeatureSet { path: path.to_owned(), num_types: types.len(), features, without_ids })
    }

    /// The features in file order.
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The feature of each type that `key` selects. A key of the file (`paper/feat`) selects that feature; a name
    /// (`feat`) selects that feature of every type; any other text selects features whose keys end with it.
    ///
    /// # Errors
    /// If no feature or several of one type match, or the tables cannot be used because the structure file lacks edge ids. The
    /// error lists the keys that exist.
    pub fn lookup(&self, key: &str) -> Result<Vec<Option<&Feature>>> {
        if let Some(structure) = &self.without_ids {
            let problem = format!(
                "cannot be used: {} lacks edge ids, so that rows cannot be assigned to edges",
                structure.display()
            );
            return Err(Error::input(&self.path, key, problem).with_hint(
                "partition with partition_graph(..., use_graphbolt=True, store_eids=True), or keep graph.dgl and its entry \
                 part_graph in the JSON file",
            ));
        }
        let rules: [fn(&Feature, &str) -> bool; 3] = [
            |feature, key| feature.key == key,
            |feature, key| feature.name == key,
            |feature, key| !key.is_empty() && feature.key.ends_with(key),
        ];
        let matches = rules.iter().map(|rule| {
            self.features.iter().filter(|feature| rule(feature, key)).collect::<Vec<_>>()
        });
        let Some(found) = matches.into_iter().find(|found| !found.is_empty()) else {
            return Err(self.unmatched(key, "does not match any feature"));
        };
        let mut by_type = vec![None; self.num_types];
        for feature in found {
            if by_type[feature.ty].replace(feature).is_some() {
                return Err(self.unmatched(key, "matches several features of one type"));
            }
        }
        Ok(by_type)
    }

    fn unmatched(&self, key: &str, problem: &str) -> Error {
        let mut keys: Vec<&str> = self.features.iter().map(|f| f.key.as_str()).collect();
        keys.sort_unstable();
        let hint = match keys[..] {
            [] => "the file holds no features".to_owned(),
            _ => format!("it holds: {}", keys.join(", ")),
        };
        Error::input(&self.path, key, problem).with_hint(hint)
    }
}

/// The type whose prefix a key has, and the remainder of the key, which may contain slashes. A key without a prefix is
/// a name of the only type, as in DGL 0.5.
fn split_key<'a>(key: &'a str, types: &[TypeRows]) -> Option<(usize, &'a str)> {
    let prefixes = types.iter().enumerate();
    let prefixes = prefixes.flat_map(|(ty, t)| t.prefixes.iter().map(move |p| (ty, p)));
    let matches = prefixes.filter_map(|(ty, prefix)| {
        Some((ty, key.strip_prefix(prefix.as_str())?.strip_prefix('/')?))
    });
    // Type names may contain slashes, too: the longest prefix leaves the shortest name.
    let longest = matches.min_by_key(|(_, name)| name.len());
    longest.or_else(|| (types.len() == 1).then_some((0, key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(names: &[&str]) -> Vec<TypeRows> {
        names.iter().map(|n| TypeRows { prefixes: vec![n.to_string()], rows: 1 }).collect()
    }

    #[test]
    fn a_key_is_split_at_the_known_type_and_nowhere_else() {
        assert_eq!(split_key("paper/a/b", &types(&["author", "paper"])), Some((1, "a/b")));
        assert_eq!(split_key("a/b/x", &types(&["a", "a/b"])), Some((1, "x")));
        assert_eq!(split_key("pap/x", &types(&["author", "paper"])), None);
    }

    #[test]
    fn a_key_without_a_type_belongs_to_the_only_type() {
        assert_eq!(split_key("feat", &types(&["_N"])), Some((0, "feat")));
        assert_eq!(split_key("group/feat", &types(&["_N"])), Some((0, "group/feat")));
        assert_eq!(split_key("_N/feat", &types(&["_N"])), Some((0, "feat")));
    }
}

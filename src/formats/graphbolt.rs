//! GraphBolt's `OnDiskDataset` data sets: a `metadata.yaml` that names files.

use std::fs;
use std::path::Path;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::io::read_input;
use crate::words::error::{Error, Result};

/// The format of NumPy's arrays.
pub(crate) const NUMPY: &str = "numpy";

/// Name of the nodes or edges of a set.
pub(crate) const SEEDS: &str = "seeds";

/// Name of a set's labels.
pub(crate) const SET_LABELS: &str = "labels";

/// The content of the file.
#[derive(Default, Deserialize, Serialize)]
pub(crate) struct Metadata {
    #[serde(skip_deserializing)]
    pub(crate) dataset_name: String,
    pub(crate) graph: Option<GraphEntry>,
    #[serde(default)]
    pub(crate) feature_data: Vec<Data>,
    #[serde(default)]
    pub(crate) tasks: Vec<Task>,
    /// Files of edges in the `meta.yaml` of DGL's `CSVDataset`, which is another format.
    #[serde(skip_serializing)]
    pub(crate) edge_data: Option<IgnoredAny>,
}

/// Nodes and edges. Only if there is one type of each, they may have no types.
#[derive(Default, Deserialize, Serialize)]
pub(crate) struct GraphEntry {
    pub(crate) nodes: Vec<NodeEntry>,
    pub(crate) edges: Vec<EdgeEntry>,
}

/// Nodes of a type.
#[derive(Deserialize, Serialize)]
pub(crate) struct NodeEntry {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) r#type: Option<String>,
    pub(crate) num: u64,
}

/// Edges of a type.
#[derive(Deserialize, Serialize)]
pub(crate) struct EdgeEntry {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) r#type: Option<String>,
    #[serde(skip_deserializing)]
    pub(crate) format: &'static str,
    pub(crate) path: String,
}

/// An array of features, or of a set of nodes.
#[derive(Default, Deserialize, Serialize)]
pub(crate) struct Data {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) domain: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) r#type: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) format: Option<String>,
    /// Whether the array is loaded into memory; if absent, it is.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(crate) in_memory: Option<bool>,
    pub(crate) path: String,
}

/// A task of a model.
#[derive(Default, Deserialize, Serialize)]
pub(crate) struct Task {
    pub(crate) name: Option<String>,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(crate) num_classes: Option<u64>,
    #[serde(default)]
    pub(crate) train_set: Vec<Set>,
    #[serde(default)]
    pub(crate) validation_set: Vec<Set>,
    #[serde(default)]
    pub(crate) test_set: Vec<Set>,
}

/// A set's nodes or edges of one type.
#[derive(Deserialize, Serialize)]
pub(crate) struct Set {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) r#type: Option<String>,
    pub(crate) data: Vec<Data>,
}

impl Data {
    /// An array of NumPy.
    pub(crate) fn array(name: &str, path: String) -> Self {
        let (name, format) = (Some(name.to_owned()), Some(NUMPY.to_owned()));
        Data { name, format, path, ..Data::default() }
    }
}

impl Task {
    /// Training, validation and test.
    pub(crate) fn sets(&mut self) -> [&mut Vec<Set>; 3] {
        [&mut self.train_set, &mut self.validation_set, &mut self.test_set]
    }

    /// Whether it has a set.
    pub(crate) fn has_sets(&self) -> bool {
        [&self.train_set, &self.validation_set, &self.test_set].iter().any(|set| !set.is_empty())
    }
}

impl Metadata {
    /// Name of the file in a data set's folder.
    pub(crate) const FILE: &'static str = "metadata.yaml";

    /// Reads the file as a data set's author wrote it.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = read_input(path).map_err(|e| Error::unreadable(path, &e))?;
        // Errors name line and column; a picture of the line would take several lines.
        let options = serde_saphyr::options! { with_snippet: false };
        serde_saphyr::from_str_with_options(&text, options).map_err(|problem| {
            Error::input(path, "", format!("is not the metadata of a data set: {problem}"))
        })
    }

    /// Writes the file: as JSON, which is YAML with all texts in quotes.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|e| Error::internal(format!("cannot encode metadata: {e}")))?;
        fs::write(path, text + "\n").map_err(|e| Error::io("write", path, e))
    }
}

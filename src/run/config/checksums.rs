//! Checksums by name, as a text in the header of a weights file.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use crate::formats::dgl::config::PartitionConfig;
use crate::io::{BYTE_ORDER_MARK, open_input};
use crate::nn::state_dict_text;
use crate::prepare::import::{CLASS_NAMES, FEATURE_ENCODING, class_names_file};
use crate::words::error::{Error, Result};

/// Checksums by name.
#[derive(Default)]
pub(in crate::run) struct Checksums(BTreeMap<String, u32>);

impl Checksums {
    /// Key of the checksums [of a graph](Self::of_graph).
    pub(in crate::run) const OF_GRAPH: &'static str = "graph_files";

    /// Checksums of the texts in a graph's folder from which classes and features have their meaning. They do not depend on the
    /// ends of lines.
    pub(in crate::run) fn of_graph(partitions: &PartitionConfig) -> Self {
        let folder = partitions.folder();
        let by_type =
            partitions.book().ntypes().iter().map(|ntype| class_names_file(folder, ntype));
        let paths = [CLASS_NAMES, FEATURE_ENCODING].map(|name| folder.join(name));
        let mut sums = Checksums::default();
        for path in paths.into_iter().chain(by_type) {
            // A file that cannot be read is an error where its words are needed.
            let mut bytes = Vec::new();
            if open_input(&path).and_then(|mut file| file.read_to_end(&mut bytes)).is_err() {
                continue;
            }
            let mut hasher = crc32fast::Hasher::new();
            let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
            for line in text.split(|byte| *byte == b'\n') {
                hasher.update(line.strip_suffix(b"\r").unwrap_or(line));
                hasher.update(b"\n");
            }
            let name = path.strip_prefix(folder).unwrap_or(&path);
            sums.insert(name.display().to_string(), hasher.finalize());
        }
        sums
    }

    /// The checksums under a key of a weights file; none if an earlier version or another program wrote it.
    ///
    /// # Errors
    /// If the file cannot be read, or the text does not hold checksums.
    pub(in crate::run) fn of_weights(path: &Path, key: &str) -> Result<Self> {
        let text = state_dict_text(path, key)?;
        if text.is_empty() {
            return Ok(Checksums::default());
        }
        let sums = serde_json::from_str(&text).map(Checksums);
        sums.map_err(|e| Error::input(path, key, format!("does not hold checksums: {e}")))
    }

    pub(in crate::run) fn insert(&mut self, name: String, sum: u32) {
        self.0.insert(name, sum);
    }

    /// Adds the checksums to the texts of a weights file, if there are any.
    ///
    /// # Errors
    /// If they cannot be encoded.
    pub(in crate::run) fn add_to(
        &self,
        texts: &mut BTreeMap<String, String>,
        key: &str,
    ) -> Result<()> {
        if !self.0.is_empty() {
            let text = serde_json::to_string(&self.0);
            let text =
                text.map_err(|e| Error::internal(format!("cannot encode checksums: {e}")))?;
            texts.insert(key.to_owned(), text);
        }
        Ok(())
    }

    /// Names whose checksums differ; names that only one side has are left out.
    pub(in crate::run) fn differing<'a>(&'a self, other: &Self) -> Vec<&'a str> {
        let differing = self.0.iter().filter_map(|(name, sum)| {
            let theirs = other.0.get(name)?;
            (theirs != sum).then_some(name.as_str())
        });
        differing.collect()
    }
}

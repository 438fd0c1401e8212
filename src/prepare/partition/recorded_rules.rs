//! The changes that were made to a graph's edges, in a file next to a partition directory's JSON file: edges that are added later are
//! changed in the same way.

use std::fs;
use std::path::Path;

use super::request::{EdgeRules, SelfLoops};
use crate::io::read_if_there;
use crate::words::error::{Error, Result};

/// Name of the file.
const EDGE_RULES: &str = "edge_rules.json";

impl EdgeRules {
    /// The rules by which the edges of a folder's graph were changed; none if it does not say.
    pub(crate) fn recorded(folder: &Path) -> Result<Self> {
        let path = folder.join(EDGE_RULES);
        let Some(text) = read_if_there(&path)? else { return Ok(EdgeRules::default()) };
        serde_json::from_str(&text).map_err(|error| {
            Error::input(&path, "", format!("does not describe edges: {error}"))
                .with_hint("remove the file if the edges are as your files have them")
        })
    }

    /// These rules, and then others.
    #[must_use]
    pub(super) fn then(self, next: Self) -> Self {
        EdgeRules {
            undirected: self.undirected || next.undirected,
            reverse_relations: self.reverse_relations || next.reverse_relations,
            self_loops: match next.self_loops {
                SelfLoops::Keep => self.self_loops,
                changed => changed,
            },
            dedup: self.dedup || next.dedup,
        }
    }

    /// Writes the file to a folder, if the rules change anything.
    pub(super) fn record(self, folder: &Path) -> Result<()> {
        if self == EdgeRules::default() {
            return Ok(());
        }
        let text = serde_json::to_string_pretty(&self);
        let text = text.map_err(|e| Error::internal(e.to_string()))? + "\n";
        let path = folder.join(EDGE_RULES);
        fs::write(&path, text).map_err(|e| Error::io("write", &path, e))
    }
}

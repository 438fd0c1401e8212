//! Nodes that are identified by strings.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::text::{Lines, shown, unquoted};
use crate::error::{Error, Result};
use crate::event::size;

/// The folder of the nodes' names in a partition directory.
pub(crate) const NODE_NAMES: &str = "node_names";

/// The file with the names of the nodes of a type, in a partition directory.
pub(crate) fn names_file(folder: &Path, ntype: &str) -> PathBuf {
    folder.join(NODE_NAMES).join(format!("{}.txt", ntype.replace('/', "_")))
}

/// Memory of a name besides its bytes: its entry in the map, a reference to it, and the overhead of an allocation.
const PER_NAME: u64 = 80;

/// The names of the nodes of one type; a node's id is the index of its name.
#[derive(Debug)]
pub struct NodeNames {
    ids: HashMap<Box<[u8]>, u64>,
    /// Whether unknown names become new nodes.
    open: bool,
    memory: u64,
    limit: u64,
}

impl NodeNames {
    /// An empty list of names; nodes are numbered in the order in which they first occur. The names may take `limit` bytes.
    pub(super) fn new(limit: u64) -> Self {
        NodeNames { ids: HashMap::new(), open: true, memory: 0, limit }
    }

    /// The names that a file lists, one per line.
    pub(super) fn read(path: &Path, limit: u64) -> Result<Self> {
        let mut names = NodeNames::new(limit);
        let mut lines = Lines::open(path)?;
        while lines.advance()? {
            let name = unquoted(lines.text()).into_owned();
            let due = names.ids.len() as u64;
            if names.id(&name)? != Some(due) {
                return Err(lines.fail(format!("names {} a second time", shown(&name))));
            }
        }
        names.close();
        Ok(names)
    }

    /// Ends the list: from here on, unknown names are not nodes.
    pub(super) fn close(&mut self) {
        self.open = false;
    }

    /// Whether unknown names become new nodes.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// The id of a name; `None` if no node has it.
    pub(super) fn id(&mut self, name: &[u8]) -> Result<Option<u64>> {
        if let Some(&id) = self.ids.get(name) {
            return Ok(Some(id));
        }
        if !self.open {
            return Ok(None);
        }
        self.memory += PER_NAME + name.len() as u64;
        if self.memory > self.limit {
            let problem = format!(
                "the names of more than {} nodes do not fit in {}",
                self.ids.len(),
                size(self.limit)
            );
            return Err(Error::config("memory", problem)
                .with_hint("allow more memory, or number the nodes in the input files"));
        }
        let id = self.ids.len() as u64;
        self.ids.insert(name.into(), id);
        Ok(Some(id))
    }

    /// Number of names.
    pub fn len(&self) -> u64 {
        self.ids.len() as u64
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Writes the names, one per line, in the order of ids.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut names: Vec<(&[u8], u64)> =
            self.ids.iter().map(|(name, id)| (&**name, *id)).collect();
        names.sort_unstable_by_key(|(_, id)| *id);
        let write = || {
            let mut file = BufWriter::new(File::create(path)?);
            for (name, _) in names {
                file.write_all(name)?;
                file.write_all(b"\n")?;
            }
            file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()
        };
        write().map_err(|e| Error::io("write", path, e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_numbered_as_they_come_until_memory_is_full() {
        let mut names = NodeNames::new(200);
        let mut id = |name: &str| names.id(name.as_bytes());
        assert_eq!(id("b").unwrap(), Some(0));
        assert_eq!(id("a").unwrap(), Some(1));
        assert_eq!(id("b").unwrap(), Some(0));
        assert!(id("c").unwrap_err().to_string().contains("memory"));
    }
}

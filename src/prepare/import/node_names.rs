//! Nodes that are named by strings.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::text::{Lines, shown, unquoted};
use crate::error::{Error, Result};
use crate::event::size;

/// What a name takes in memory beside its bytes: its entry in the map, a reference to it, and what an allocation costs.
const PER_NAME: u64 = 80;

/// The names of the nodes of one type; a node's id is the place of its name.
#[derive(Debug)]
pub struct NodeNames {
    ids: HashMap<Box<[u8]>, u64>,
    /// Whether names that are not there yet become new nodes.
    open: bool,
    memory: u64,
    limit: u64,
}

impl NodeNames {
    /// No names yet; nodes are numbered in the order in which they first occur. They may take `limit` bytes.
    pub(super) fn new(limit: u64) -> Self {
        NodeNames { ids: HashMap::new(), open: true, memory: 0, limit }
    }

    /// The names that a file lists, one a line.
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

    /// From here on other names are none.
    pub(super) fn close(&mut self) {
        self.open = false;
    }

    /// The id of a name; `None` if there is no such node.
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
            return Err(Error::config("--memory", problem)
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

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Writes the names, one a line, in the order of ids.
    ///
    /// # Errors
    /// The file cannot be written.
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
        assert!(id("c").unwrap_err().to_string().contains("--memory"));
    }
}

//! Names of nodes, in any order.

use std::path::Path;

use super::node_space::NodeSpace;
use crate::io::{UnnamedFile, UnnamedWriter};
use crate::words::error::Result;

/// The names of all nodes in one file, with the end of each in another: memory does not grow with the graph.
pub(super) struct NameIndex {
    names: UnnamedFile,
    ends: UnnamedFile,
}

impl NameIndex {
    /// Copies the names into unnamed files in `folder`; `None` if nodes have no names.
    pub(super) fn new(space: &NodeSpace<'_>, folder: &Path) -> Result<Option<Self>> {
        if !space.has_names() {
            return Ok(None);
        }
        let (mut names, mut ends) =
            (UnnamedWriter::create(folder)?, UnnamedWriter::create(folder)?);
        let (mut lines, mut end) = (space.names(), 0_u64);
        for _ in 0..space.len() {
            let name = lines.advance()?;
            end += name.len() as u64;
            names.write(name)?;
            ends.write(&end.to_le_bytes())?;
        }
        Ok(Some(NameIndex { names: names.finish()?, ends: ends.finish()? }))
    }

    /// The name of the node at a place.
    pub(super) fn name(&self, place: u64) -> Result<Vec<u8>> {
        let begin = match place {
            0 => 0,
            _ => self.end(place - 1)?,
        };
        let mut name = vec![0; self.end(place)?.saturating_sub(begin) as usize];
        self.names.read_at(&mut name, begin)?;
        Ok(name)
    }

    fn end(&self, place: u64) -> Result<u64> {
        let mut end = [0; 8];
        self.ends.read_at(&mut end, 8 * place)?;
        Ok(u64::from_le_bytes(end))
    }
}

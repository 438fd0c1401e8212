//! Names of nodes, in any order.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::node_space::NodeSpace;
use crate::error::{Error, Result};

/// The names of all nodes in one file, with the end of each in another: memory does not grow with the graph.
pub(super) struct NameIndex {
    folder: PathBuf,
    names: File,
    ends: File,
}

impl NameIndex {
    /// Copies the names into unnamed files in `folder`; `None` if nodes have no names.
    pub(super) fn new(space: &NodeSpace<'_>, folder: &Path) -> Result<Option<Self>> {
        if !space.has_names() {
            return Ok(None);
        }
        let failed = |e| Error::io("write a temporary file in", folder, e);
        let temporary = || tempfile::tempfile_in(folder).map_err(failed);
        let (names, ends) = (temporary()?, temporary()?);
        {
            let (mut text, mut numbers) =
                (std::io::BufWriter::new(&names), std::io::BufWriter::new(&ends));
            let (mut lines, mut end) = (space.names(), 0_u64);
            for _ in 0..space.len() {
                let name = lines.advance()?;
                end += name.len() as u64;
                text.write_all(name)
                    .and_then(|()| numbers.write_all(&end.to_le_bytes()))
                    .map_err(failed)?;
            }
            text.flush().and_then(|()| numbers.flush()).map_err(failed)?;
        }
        Ok(Some(NameIndex { folder: folder.to_owned(), names, ends }))
    }

    /// The name of the node at a place.
    pub(super) fn name(&self, place: u64) -> Result<Vec<u8>> {
        let begin = match place {
            0 => 0,
            _ => self.end(place - 1)?,
        };
        let mut name = vec![0; self.end(place)?.saturating_sub(begin) as usize];
        let read = self.names.read_exact_at(&mut name, begin);
        read.map_err(|e| Error::io("read a temporary file in", &self.folder, e))?;
        Ok(name)
    }

    fn end(&self, place: u64) -> Result<u64> {
        let mut end = [0; 8];
        let read = self.ends.read_exact_at(&mut end, 8 * place);
        read.map_err(|e| Error::io("read a temporary file in", &self.folder, e))?;
        Ok(u64::from_le_bytes(end))
    }
}

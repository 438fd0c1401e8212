//! Progress of reading files of edges.

use std::path::Path;

use crate::words::error::Result;

/// Bytes of the files read so far, and of all.
pub(in crate::prepare::import) struct EdgeProgress<'t> {
    pub(in crate::prepare::import) done: u64,
    pub(in crate::prepare::import) total: u64,
    pub(in crate::prepare::import) tell: &'t mut dyn FnMut(u64, u64) -> Result<()>,
}

impl<'t> EdgeProgress<'t> {
    /// The progress before any of these files is read.
    pub(in crate::prepare::import) fn new<'p>(
        paths: impl Iterator<Item = &'p Path>,
        tell: &'t mut dyn FnMut(u64, u64) -> Result<()>,
    ) -> Self {
        EdgeProgress { done: 0, total: paths.map(size_of).sum(), tell }
    }

    /// Counts a file as read.
    pub(in crate::prepare::import) fn add(&mut self, path: &Path) {
        self.done += size_of(path);
    }
}

/// Size of a file in bytes.
fn size_of(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |info| info.len())
}

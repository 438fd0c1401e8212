//! An index of edges on disk, read by ranges.

use std::ops::Range;
use std::path::PathBuf;

use crate::io::{IoCounters, StorageFile, read_ranges};
use crate::words::error::{Error, Result};

/// An open index of edges. It can be shared by threads.
pub(super) struct IndexFile {
    pub(super) path: PathBuf,
    pub(super) file: Box<dyn StorageFile>,
    pub(super) counters: IoCounters,
}

impl IndexFile {
    /// The ranges of `num_edges` edges that belong to nodes (ascending). The first edge of each node, and the end, are
    /// stored from `start` on, as `u64`.
    pub(super) fn rows(
        &self,
        start: u64,
        nodes: &[u64],
        num_edges: u64,
    ) -> Result<Vec<Range<u64>>> {
        let place = |i: usize| start + nodes[i] * 8..start + (nodes[i] + 2) * 8;
        let mut rows = Vec::with_capacity(nodes.len());
        self.read(nodes.len(), place, |_, bytes| {
            let [begin, end] = bytemuck::pod_read_unaligned::<[u64; 2]>(bytes);
            rows.push(begin..end);
        })?;
        if let Some(row) = rows.iter().find(|row| row.start > row.end || row.end > num_edges) {
            return Err(Error::corrupt(&self.path, format!("has a row {row:?}")));
        }
        Ok(rows)
    }

    /// Passes the bytes of ranges (ascending) to `visit`, with the range's position.
    pub(super) fn read(
        &self,
        count: usize,
        place: impl Fn(usize) -> Range<u64>,
        visit: impl FnMut(usize, &[u8]),
    ) -> Result<()> {
        let read = read_ranges(&*self.file, count, place, visit);
        self.counters.read(read.map_err(|e| Error::io("read", &self.path, e))?);
        Ok(())
    }
}

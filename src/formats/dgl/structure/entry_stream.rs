//! Ends of edges in file order, in blocks.

use super::local_graph::{Entries, LocalGraph};
use crate::formats::dgl::array::ArrayRef;
use crate::formats::dgl::blocks;
use crate::words::error::Result;
use std::ops::Range;

/// Number of row starts that are read at a time.
const ROWS: u64 = 16 << 10;

/// A reader of the entries of a [`LocalGraph`] from the first to the last.
#[derive(Debug)]
pub(crate) struct EntryStream {
    entries: Entries,
    next: u64,
    end: u64,
    rows: Rows,
}

impl EntryStream {
    pub(crate) fn new(graph: &LocalGraph) -> Self {
        EntryStream {
            entries: graph.entries.clone(),
            next: 0,
            end: graph.num_edges,
            rows: Rows::default(),
        }
    }

    /// Reads up to `max` entries: local source and destination. Returns their range, which is empty at the end.
    pub(crate) fn next_block(
        &mut self,
        max: usize,
        src: &mut Vec<u64>,
        dst: &mut Vec<u64>,
    ) -> Result<Range<u64>> {
        let range = self.next..self.end.min(self.next.saturating_add(max as u64));
        match &self.entries {
            Entries::Pairs { src: sources, dst: destinations } => {
                blocks::read(sources, range.clone(), src)?;
                blocks::read(destinations, range.clone(), dst)?;
            }
            Entries::ByDestination { indptr, src: sources } => {
                blocks::read(sources, range.clone(), src)?;
                self.rows.fill(indptr, self.end, range.clone(), dst)?;
            }
            Entries::BySource { indptr, dst: destinations } => {
                blocks::read(destinations, range.clone(), dst)?;
                self.rows.fill(indptr, self.end, range.clone(), src)?;
            }
        }
        self.next = range.end;
        Ok(range)
    }
}

/// A position in the row starts of a compressed matrix.
#[derive(Debug, Default)]
struct Rows {
    /// Number of rows entered, including the current one.
    entered: u64,
    /// End of the current row.
    row_end: u64,
    window: Vec<u64>,
    window_start: u64,
}

impl Rows {
    /// Fills in the row of each entry of a range; ranges must be consecutive.
    fn fill(
        &mut self,
        indptr: &ArrayRef,
        num_entries: u64,
        range: Range<u64>,
        out: &mut Vec<u64>,
    ) -> Result<()> {
        out.clear();
        let mut at = range.start;
        while at < range.end {
            while self.row_end <= at {
                self.enter_row(indptr, num_entries)?;
            }
            let stop = self.row_end.min(range.end);
            out.resize(out.len() + (stop - at) as usize, self.entered - 1);
            at = stop;
        }
        Ok(())
    }

    fn enter_row(&mut self, indptr: &ArrayRef, num_entries: u64) -> Result<()> {
        if self.entered == 0 && self.start_of(indptr, 0)? != 0 {
            return Err(indptr.fail("the first row does not start at 0"));
        }
        if self.entered + 1 >= indptr.num_rows() {
            return Err(indptr.fail(format!("the last row ends before entry {num_entries}")));
        }
        self.entered += 1;
        let end = self.start_of(indptr, self.entered)?;
        if end < self.row_end || end > num_entries {
            return Err(indptr.fail(format!(
                "row {} ends at {end}, after {}, of {num_entries} entries",
                self.entered - 1,
                self.row_end
            )));
        }
        self.row_end = end;
        Ok(())
    }

    fn start_of(&mut self, indptr: &ArrayRef, row: u64) -> Result<u64> {
        let inside = self.window_start..self.window_start + self.window.len() as u64;
        if !inside.contains(&row) {
            self.window_start = row;
            let end = indptr.num_rows().min(row.saturating_add(ROWS));
            blocks::read(indptr, row..end, &mut self.window)?;
        }
        Ok(self.window[(row - self.window_start) as usize])
    }
}

//! The pages that belong to this process alone.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use sar::{Error, Result};

/// Bits of an entry of `/proc/self/pagemap`.
const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
const OF_FILE: u64 = 1 << 61;
const EXCLUSIVE: u64 = 1 << 56;

/// Runs with fewer pages between them than this become one.
const GAP: usize = 16;

/// Entries read at a time, on the stack.
const ENTRIES: usize = 512;

/// `/proc/self/pagemap`. Looking at it allocates nothing, as the memory that is looked at may be the heap.
pub(super) struct PageMap {
    file: File,
    page: usize,
}

/// Content of a range, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Held {
    /// Pages that no file and no other process has.
    pub(super) own: u64,
    /// Pages in memory, but for those shared with the process that this one was forked from.
    pub(super) resident: u64,
}

impl PageMap {
    pub(super) fn open() -> Result<Self> {
        let path = Path::new("/proc/self/pagemap");
        let file = File::open(path).map_err(|e| Error::io("open", path, e))?;
        Ok(PageMap { file, page: rustix::param::page_size() })
    }

    /// Looks at a range of whole pages. Of memory from before the fork (`inherited`), pages are own if no other process shares them.
    pub(super) fn held(&self, range: &Range<usize>, inherited: bool) -> Result<Held> {
        let mut held = Held::default();
        self.each_page(range, &mut |_, entry| {
            let own = is_own(entry, inherited);
            held.own += if own { self.page as u64 } else { 0 };
            let cached = entry & (PRESENT | OF_FILE) == PRESENT | OF_FILE;
            held.resident += if own || cached { self.page as u64 } else { 0 };
            Ok(())
        })?;
        Ok(held)
    }

    /// Calls `run` with each run of own pages, and of few pages between them.
    pub(super) fn each_run(
        &self,
        range: &Range<usize>,
        inherited: bool,
        run: &mut dyn FnMut(Range<usize>) -> Result<()>,
    ) -> Result<()> {
        let mut open: Option<Range<usize>> = None;
        self.each_page(range, &mut |address, entry| {
            if !is_own(entry, inherited) {
                return Ok(());
            }
            let page = address..address + self.page;
            match &mut open {
                Some(open) if address - open.end <= GAP * self.page => open.end = page.end,
                _ => {
                    if let Some(complete) = open.replace(page) {
                        run(complete)?;
                    }
                }
            }
            Ok(())
        })?;
        open.map_or(Ok(()), run)
    }

    fn each_page(
        &self,
        range: &Range<usize>,
        page: &mut dyn FnMut(usize, u64) -> Result<()>,
    ) -> Result<()> {
        let mut entries = [0_u64; ENTRIES];
        for start in range.clone().step_by(ENTRIES * self.page) {
            let count = ((range.end - start) / self.page).min(ENTRIES);
            let offset = (start / self.page * size_of::<u64>()) as u64;
            let entries = &mut entries[..count];
            self.file
                .read_exact_at(bytemuck::cast_slice_mut(entries), offset)
                .map_err(|e| Error::io("read", Path::new("/proc/self/pagemap"), e))?;
            for (i, entry) in entries.iter().enumerate() {
                page(start + i * self.page, *entry)?;
            }
        }
        Ok(())
    }
}

fn is_own(entry: u64, inherited: bool) -> bool {
    let held = entry & OF_FILE == 0 && entry & (PRESENT | SWAPPED) != 0;
    // What is swapped out may be shared; then a copy is written.
    held && (!inherited || entry & (EXCLUSIVE | SWAPPED) != 0)
}

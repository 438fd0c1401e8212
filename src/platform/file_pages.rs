//! Pages of files, such as code, that a process has mapped and touched.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// Bits of an entry of `/proc/self/pagemap`: the page belongs to a file, and it is in memory.
const OF_FILE: u64 = 1 << 61;
const PRESENT: u64 = 1 << 63;
const ENTRY: u64 = size_of::<u64>() as u64;

/// Addresses of the file pages that this process has in memory.
#[derive(Debug, Clone, Default)]
pub struct FilePages(Vec<u64>);

impl FilePages {
    /// The file pages of this process; empty if the system does not report them.
    pub fn of_this_process() -> Self {
        let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let Ok(pagemap) = File::open("/proc/self/pagemap") else { return FilePages::default() };
        let page = rustix::param::page_size() as u64;
        let mut pages = Vec::new();
        for line in maps.lines() {
            let Some((first, last)) = range(line) else { continue };
            let (first, last) = (first / page, last / page);
            let mut entries = vec![0_u64; (last - first) as usize];
            // Mappings of the kernel have no entries.
            if pagemap.read_exact_at(bytemuck::cast_slice_mut(&mut entries), first * ENTRY).is_err()
            {
                continue;
            }
            let present = |entry: u64| entry & PRESENT != 0 && entry & OF_FILE != 0;
            pages.extend((first..last).zip(entries).filter(|(_, e)| present(*e)).map(|(p, _)| p));
        }
        FilePages(pages)
    }

    /// Bytes of file pages that `before` does not have, such as the pages of the process that forked this one.
    pub fn bytes_beyond(&self, before: &FilePages) -> u64 {
        let new = self.0.iter().filter(|page| before.0.binary_search(page).is_err());
        new.count() as u64 * rustix::param::page_size() as u64
    }
}

/// The addresses on a line of `/proc/self/maps`, if the line describes a file.
fn range(line: &str) -> Option<(u64, u64)> {
    let mut fields = line.split_whitespace();
    let (first, last) = fields.next()?.split_once('-')?;
    fields.nth(4).filter(|path| path.starts_with('/'))?;
    let address = |text| u64::from_str_radix(text, 16).ok();
    Some((address(first)?, address(last)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_runs_is_in_memory() {
        let before = FilePages::of_this_process();
        assert!(before.0.is_sorted());
        assert_eq!(before.bytes_beyond(&before), 0);
        if cfg!(target_os = "linux") {
            let some = FilePages(before.0[..before.0.len() / 2].to_vec());
            assert!(before.bytes_beyond(&some) > 0);
        }
    }

    #[test]
    fn only_files_have_pages_of_files() {
        let code = "7f00a000-7f00c000 r-xp 00001000 fe:00 131 /usr/lib/x86_64-linux-gnu/libc.so.6";
        assert_eq!(range(code), Some((0x7f00_a000, 0x7f00_c000)));
        assert_eq!(range("7ffd1000-7ffd3000 rw-p 00000000 00:00 0 [stack]"), None);
        assert_eq!(range("7f00c000-7f00d000 rw-p 00000000 00:00 0 "), None);
    }
}

//! Reading of many short ranges of a file in few calls.

use std::io;
use std::ops::Range;

use super::storage::StorageFile;

/// Largest gap in bytes between two ranges that are read together; a call costs more than reading the gap.
const GAP: u64 = 512;
/// Bytes read at a time, unless one range is longer; few enough to be still in the processor's cache when visited.
const LARGEST: u64 = 256 << 10;

/// Reads `count` ranges of bytes and passes the bytes of each, with its index, to `visit`, in order. `range` returns
/// the range at an index; ranges have ascending starts and may overlap. Returns the number of bytes read.
///
/// # Errors
/// If the file cannot be read, or ends before a range does.
pub fn read_ranges(
    file: &dyn StorageFile,
    count: usize,
    range: impl Fn(usize) -> Range<u64>,
    mut visit: impl FnMut(usize, &[u8]),
) -> io::Result<u64> {
    let (mut buffer, mut total) = (Vec::new(), 0);
    let mut first = 0;
    while first < count {
        let Range { start, mut end } = range(first);
        let mut next = first + 1;
        while next < count {
            let another = range(next);
            let joined = end.max(another.end);
            if another.start > end + GAP || joined - start > LARGEST {
                break;
            }
            (end, next) = (joined, next + 1);
        }
        let len = (end - start) as usize;
        if buffer.len() < len {
            buffer.resize(len, 0);
        }
        file.read_exact_at(&mut buffer[..len], start)?;
        total += end - start;
        for i in first..next {
            let range = range(i);
            visit(i, &buffer[(range.start - start) as usize..(range.end - start) as usize]);
        }
        first = next;
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{DiskStorage, Storage};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_range_gets_its_bytes(mut starts in prop::collection::vec((0u64..5000, 0u64..900), 0..40)) {
            let folder = tempfile::tempdir().unwrap();
            let mut file = DiskStorage::default().create(&folder.path().join("x")).unwrap();
            let content: Vec<u8> = (0..6000u32).map(|i| (i % 251) as u8).collect();
            file.write(&content).unwrap();
            let file = file.finish().unwrap();
            starts.sort_unstable();
            let ranges: Vec<Range<u64>> = starts.iter().map(|&(start, len)| start..start + len).collect();
            let mut seen = 0;
            let read = read_ranges(&*file, ranges.len(), |i| ranges[i].clone(), |i, bytes| {
                assert_eq!(i, seen);
                let range = ranges[i].start as usize..ranges[i].end as usize;
                assert_eq!(bytes, &content[range]);
                seen += 1;
            }).unwrap();
            prop_assert_eq!(seen, ranges.len());
            prop_assert!(read <= 6000);
        }
    }
}

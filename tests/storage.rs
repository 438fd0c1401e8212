//! Files through the page cache, around it, and partly both: the same bytes, within the share.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use sar::io::{DiskStorage, IoMode, Storage, read_split};

const MODES: [IoMode; 3] = [IoMode::Auto, IoMode::Direct, IoMode::Buffered];

fn content(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i * i % 251) as u8).collect()
}

/// A file system that refuses direct I/O, as some do, cannot be tested in that mode.
fn refuses(folder: &tempfile::TempDir, mode: IoMode) -> bool {
    let storage = DiskStorage::with_share(mode);
    let mut file = storage.create(&folder.path().join("try")).unwrap();
    mode == IoMode::Direct && file.write(&[0]).is_err()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_written_is_read(
        pieces in prop::collection::vec(0_usize..1_500_000, 0..8),
        share in 0_u64..5_000_000,
        reads in prop::collection::vec((0.0..1.0_f64, 0.0..1.0_f64), 1..6),
        mode in 0_usize..3,
    ) {
        let folder = tempfile::tempdir().unwrap();
        if refuses(&folder, MODES[mode]) {
            return Ok(());
        }
        let storage = DiskStorage::with_share(MODES[mode]);
        storage.set_cache_share(share);
        let path = folder.path().join("x");
        let content = content(pieces.iter().sum());
        let mut file = storage.create(&path).unwrap();
        let mut rest = &content[..];
        for piece in pieces {
            file.write(&rest[..piece]).unwrap();
            rest = &rest[piece..];
        }
        let cached = file.cached();
        let written = file.finish().unwrap();
        prop_assert!(storage.cached_bytes() <= share);
        // As the writer reads it, and as another process does.
        for file in [written, storage.open(&path).unwrap()] {
            prop_assert_eq!(file.byte_len().unwrap(), content.len() as u64);
            for &(at, part) in &reads {
                let from = (at * content.len() as f64) as usize;
                let len = (part * (content.len() - from) as f64) as usize;
                let mut bytes = vec![0; len];
                read_split(&*file, cached, &mut bytes, from as u64).unwrap();
                prop_assert!(bytes == content[from..from + len]);
            }
            let mut too_much = vec![0; content.len() + 1];
            prop_assert!(read_split(&*file, cached, &mut too_much, 0).is_err());
        }
        storage.remove(&path).unwrap();
        prop_assert_eq!(storage.cached_bytes(), 0);
    }
}

#[test]
fn files_take_page_cache_in_the_order_they_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let storage = DiskStorage::with_share(IoMode::Auto);
    storage.set_cache_share(3 << 20);
    let write = |name: &str| {
        let mut file = storage.create(&folder.path().join(name)).unwrap();
        (0..8).for_each(|_| file.write(&content(1 << 18)).unwrap());
        let cached = file.cached();
        file.finish().unwrap();
        cached
    };
    assert_eq!(write("first"), u64::MAX);
    assert_eq!(storage.cached_bytes(), 2 << 20);
    // Half of it fits; the rest does not fill a request.
    write("second");
    assert_eq!(storage.cached_bytes(), 3 << 20);
    storage.remove(&folder.path().join("first")).unwrap();
    assert_eq!(storage.cached_bytes(), 1 << 20);
}

#[test]
fn all_but_small_files_go_around_the_page_cache() {
    let folder = tempfile::tempdir().unwrap();
    if refuses(&folder, IoMode::Direct) {
        return;
    }
    let storage = DiskStorage::with_share(IoMode::Direct);
    for (bytes, cached) in [(60_000, u64::MAX), (70_000, 0), (2_000_000, 0)] {
        let content = content(bytes);
        let mut file = storage.create(&folder.path().join(bytes.to_string())).unwrap();
        file.write(&content).unwrap();
        assert_eq!(file.cached(), cached, "{bytes} bytes");
        let file = file.finish().unwrap();
        let mut read = vec![0; bytes];
        read_split(&*file, cached, &mut read, 0).unwrap();
        assert!(read == content, "{bytes} bytes");
    }
}

#[test]
fn pages_of_a_file_are_read_into_pages_of_memory() {
    const PAGE: usize = 4096;
    // Several requests, and less than a page after them.
    let content = content((9 << 20) + 1000);
    for mode in MODES {
        let folder = tempfile::tempdir().unwrap();
        if refuses(&folder, mode) {
            continue;
        }
        let storage = DiskStorage::with_share(mode);
        storage.set_cache_share(0);
        let path = folder.path().join("x");
        let mut file = storage.create(&path).unwrap();
        file.write(&content).unwrap();
        let file = file.finish().unwrap();
        let mut memory = vec![0; content.len() + 2 * PAGE];
        let start = memory.as_ptr().align_offset(PAGE);
        for (from, to) in [(0, content.len()), (PAGE, 6 << 20), (0, content.len() + 1)] {
            let bytes = &mut memory[start..][..to - from];
            bytes.fill(0);
            let read = file.read_around(bytes, from as u64);
            if to > content.len() {
                assert!(read.is_err(), "{mode:?}: read beyond the end");
            } else {
                read.unwrap();
                assert!(*bytes == content[from..to], "{mode:?}: bytes {from} to {to}");
            }
        }
    }
}

#[test]
fn a_storage_with_a_least_share_keeps_it_whatever_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let storage = DiskStorage::with_share(IoMode::Buffered).at_least(1_000_000);
    storage.set_cache_share(0);
    let mut file = storage.create(&folder.path().join("x")).unwrap();
    for piece in [&content(900_000), &content(200_000)] {
        file.write(piece).unwrap();
    }
    assert_eq!((file.cached(), storage.cached_bytes()), (900_000, 900_000));
    storage.set_cache_share(2_000_000);
    storage.create(&folder.path().join("y")).unwrap().write(&content(900_000)).unwrap();
    assert_eq!(storage.cached_bytes(), 1_800_000);
}

#[test]
fn files_that_are_written_back_stay_in_the_page_cache() {
    let folder = tempfile::tempdir().unwrap();
    let storage = DiskStorage::default().writing_back();
    let (path, content) = (folder.path().join("x"), content(20 << 20));
    let mut file = storage.create(&path).unwrap();
    content.chunks(1_000_000).for_each(|piece| file.write(piece).unwrap());
    assert_eq!(file.cached(), u64::MAX);
    let written = file.finish().unwrap();
    for file in [written, storage.open(&path).unwrap()] {
        let mut bytes = vec![0; content.len()];
        read_split(&*file, u64::MAX, &mut bytes, 0).unwrap();
        assert!(bytes == content);
    }
}

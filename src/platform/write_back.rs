//! Writing a file's pages to the disk.
#![allow(unsafe_code)] // one call of the C library: sync_file_range

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Writes `len` bytes of a file from `offset` to the disk and waits for them. Unlike `fdatasync`, this flushes neither the
/// file system's journal nor the disk's cache, so after a power failure the bytes may be lost.
pub(crate) fn write_back(file: &File, offset: u64, len: u64) -> io::Result<()> {
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: takes no pointers, and the file is open during the call.
    let result =
        unsafe { libc::sync_file_range(file.as_raw_fd(), offset as i64, len as i64, flags) };
    // Some file systems lack it.
    if result == 0 { Ok(()) } else { file.sync_data() }
}

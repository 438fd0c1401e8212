//! Writing a file's pages to the disk.
#![allow(unsafe_code)] // one call of the C library: sync_file_range

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use libc::{EINVAL, ENOSYS, EOPNOTSUPP, ESPIPE};
use libc::{SYNC_FILE_RANGE_WAIT_AFTER, SYNC_FILE_RANGE_WAIT_BEFORE, SYNC_FILE_RANGE_WRITE};
use rustix::fs::fstatfs;

/// Writes `len` bytes of a file from `offset` to the disk and waits for them. Unlike `fdatasync`, this flushes neither the
/// file system's journal nor the disk's cache, so after a power failure the bytes may be lost.
pub(crate) fn write_back(file: &File, offset: u64, len: u64) -> io::Result<()> {
    let flags = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    sync_range(file, offset, len, flags)
}

/// Begins to write all changed pages of a file to the disk, after waiting for those of the call before.
pub(crate) fn begin_write_back(file: &File) -> io::Result<()> {
    // A length of 0 means the whole file.
    sync_range(file, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE)
}

fn sync_range(file: &File, offset: u64, len: u64, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: takes no pointers, and the file is open during the call.
    let result =
        unsafe { libc::sync_file_range(file.as_raw_fd(), offset as i64, len as i64, flags) };
    let error = (result != 0).then(io::Error::last_os_error);
    let number = error.as_ref().and_then(io::Error::raw_os_error);
    // Some file systems lack it. That of containers takes the call and does nothing.
    let lacks = matches!(number, Some(ENOSYS | EINVAL | EOPNOTSUPP | ESPIPE));
    match error {
        // An error of the disk is reported once: a later `fsync` would return well.
        Some(error) if !lacks => Err(error),
        None if !is_overlay(file) => Ok(()),
        _ => file.sync_data(),
    }
}

fn is_overlay(file: &File) -> bool {
    fstatfs(file).is_ok_and(|disk| disk.f_type == libc::OVERLAYFS_SUPER_MAGIC)
}

//! The only access to the files that this program writes for itself (spill and exchange files).
//!
//! All code above goes through a [`Storage`]. Tests pass one whose n-th call fails, to see each layer's behaviour.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A file system: creates, opens and removes files.
pub trait Storage: Send + Sync {
    /// Creates a file, to be written from front to back; it must not exist yet.
    ///
    /// # Errors
    /// If the file exists, or cannot be created.
    fn create(&self, path: &Path) -> io::Result<Box<dyn FileWriter>>;
    /// Opens an existing file for reading.
    ///
    /// # Errors
    /// If the file does not exist, or cannot be opened.
    fn open(&self, path: &Path) -> io::Result<Box<dyn StorageFile>>;
    /// Removes a file.
    ///
    /// # Errors
    /// If the file cannot be removed.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Allows this storage's files `bytes` bytes of the system's page cache together, if the storage keeps to a share.
    fn set_cache_share(&self, _bytes: u64) {}
    /// Bytes of page cache that this storage's files take, if it keeps to a share.
    fn cached_bytes(&self) -> u64 {
        0
    }
}

/// A file being written, from front to back.
pub trait FileWriter: Send {
    /// Appends bytes.
    ///
    /// # Errors
    /// If the bytes cannot be written.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Number of leading bytes that lie in the page cache, and are better read through it than around it.
    fn cached(&self) -> u64;
    /// Number of leading bytes that count towards the storage's share of the page cache.
    fn shared(&self) -> u64 {
        0
    }
    /// Ends the file, which other processes may read from now on.
    ///
    /// # Errors
    /// If the rest of the bytes cannot be written.
    fn finish(self: Box<Self>) -> io::Result<Box<dyn StorageFile>>;
}

/// An open file, read at offsets.
pub trait StorageFile: Send + Sync {
    /// Fills `bytes` from `offset`, through the page cache.
    ///
    /// # Errors
    /// If the file cannot be read, or ends before.
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;
    /// Fills `bytes` from `offset` without leaving the bytes in the page cache.
    ///
    /// # Errors
    /// If the file cannot be read, or ends before.
    fn read_around(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;
    /// Length of the file in bytes.
    ///
    /// # Errors
    /// If the system does not report the length.
    fn byte_len(&self) -> io::Result<u64>;
}

/// Fills `bytes` from `offset` of a file whose first `cached` bytes lie in the page cache.
///
/// # Errors
/// If the file cannot be read, or ends before.
pub fn read_split(
    file: &dyn StorageFile,
    cached: u64,
    bytes: &mut [u8],
    offset: u64,
) -> io::Result<()> {
    let front = overlap(cached, offset, bytes.len() as u64) as usize;
    let (front, rest) = bytes.split_at_mut(front);
    let at = offset + front.len() as u64;
    if !front.is_empty() {
        file.read_exact_at(front, offset)?;
    }
    if rest.is_empty() { Ok(()) } else { file.read_around(rest, at) }
}

/// Number of bytes among `len` bytes from `offset` that lie within the first `front` bytes of a file.
pub fn overlap(front: u64, offset: u64, len: u64) -> u64 {
    front.saturating_sub(offset).min(len)
}

impl StorageFile for File {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, bytes, offset)
    }

    fn read_around(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, bytes, offset)?;
        super::page_cache::drop_pages(self, offset, bytes.len() as u64)
    }

    fn byte_len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}

//! The one door to the files this program writes for itself (spill and exchange files).
//!
//! Everything above asks a [`Storage`]; tests hand in a [`FaultyStorage`](crate::io::FaultyStorage) instead and see
//! how each layer behaves when the n-th call fails.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Creates, opens and removes files.
pub trait Storage: Send + Sync {
    /// Creates a file, to be written from front to back; it must not exist yet.
    fn create(&self, path: &Path) -> io::Result<Box<dyn FileWriter>>;
    /// Opens an existing file for reading.
    fn open(&self, path: &Path) -> io::Result<Box<dyn StorageFile>>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Lets files of this storage take so many bytes of the system's page cache together, if it keeps to such a share.
    fn set_cache_share(&self, _bytes: u64) {}
    /// The bytes of page cache that files of this storage take, if it keeps to a share.
    fn cached_bytes(&self) -> u64 {
        0
    }
}

/// A file that is being written, from front to back.
pub trait FileWriter: Send {
    /// Appends bytes.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// How many bytes at the front are better read through the page cache, where they lie, than around it.
    fn cached(&self) -> u64;
    /// How many bytes at the front count towards the share of the page cache that the storage keeps to.
    fn shared(&self) -> u64 {
        0
    }
    /// Ends the file: what was written can be read by everybody.
    fn finish(self: Box<Self>) -> io::Result<Box<dyn StorageFile>>;
}

/// An open file, read at offsets.
pub trait StorageFile: Send + Sync {
    /// Fills `bytes` from `offset`, through the page cache; a file that ends too early is an error.
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;
    /// Likewise, but what is read takes no place in the page cache.
    fn read_around(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;
    /// The file's length in bytes.
    fn byte_len(&self) -> io::Result<u64>;
}

/// Fills `bytes` from `offset` of a file whose first `cached` bytes lie in the page cache.
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

/// How many of `len` bytes from `offset` lie among the first `front` of a file.
pub(crate) fn overlap(front: u64, offset: u64, len: u64) -> u64 {
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

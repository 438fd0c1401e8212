//! The file system, through the page cache or around it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::direct::{DirectWriter, SMALL, read_direct};
use super::page_cache::{CacheShare, PIECE, drop_pages};
use super::private_file::new_private_file;
use super::request_queue::RequestQueue;
use super::spare_files::SpareFiles;
use super::storage::{FileWriter, Storage, StorageFile};
use crate::platform::write_back;
use crate::words::choice::choices;

choices! {
    /// How files that do not fit into the page cache's share are written and read.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum IoMode {
        /// The faster one, which is measured briefly, if the run may move gigabytes; otherwise direct, if the file system supports it
        @default Auto = "auto",
        /// Around the page cache, several requests at a time
        Direct = "direct",
        /// Through the page cache, which is told to drop the pages afterwards
        Buffered = "buffered",
    }
}

/// The [`Storage`] of real files.
///
/// By [default](DiskStorage::default) everything goes through the page cache. A storage with a
/// [share](DiskStorage::with_share) puts files there as long as it has room, and writes the rest around the cache.
#[derive(Clone, Default)]
pub struct DiskStorage {
    share: Option<Arc<CacheShare>>,
    mode: IoMode,
    queue: Arc<RequestQueue>,
    spare: Option<Arc<SpareFiles>>,
    /// Whether files stay in the page cache without changes that the disk lacks.
    clean: bool,
}

impl DiskStorage {
    /// A storage whose files take no page cache until a share is [allowed](Storage::set_cache_share). Anything below
    /// 64 KiB stays in the cache all the same and is not counted.
    pub fn with_share(mode: IoMode) -> Self {
        DiskStorage { share: Some(Arc::default()), mode, ..DiskStorage::default() }
    }

    /// The storage with a share of at least this number of bytes, whatever is allowed.
    #[must_use]
    pub fn at_least(self, bytes: u64) -> Self {
        DiskStorage { share: Some(Arc::new(CacheShare::at_least(bytes))), ..self }
    }

    /// The storage with files that are on disk as well while they are in the page cache, so that the system can drop their
    /// pages at any time. For files without a share that are read later.
    #[must_use]
    pub fn writing_back(self) -> Self {
        DiskStorage { clean: true, ..self }
    }

    /// The storage with reuse of removed files as new ones: until then they are empty, and keep their names. Only for a
    /// process that never opens a removed file.
    #[must_use]
    pub fn reusing_files(self) -> Self {
        DiskStorage { spare: Some(Arc::default()), ..self }
    }

    /// Opens the same file for direct I/O; `None` where the file system does not support it, or the user does not want
    /// it.
    fn open_direct(&self, path: &Path, write: bool) -> io::Result<Option<Arc<File>>> {
        if self.mode == IoMode::Buffered {
            return Ok(None);
        }
        let flags = OFlags::DIRECT.bits() as i32;
        match OpenOptions::new().read(true).write(write).custom_flags(flags).open(path) {
            Ok(file) => Ok(Some(Arc::new(file))),
            Err(e) if e.kind() == io::ErrorKind::InvalidInput => match self.mode {
                IoMode::Direct => Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    "this file system does not support direct I/O; use ‹io=auto›",
                )),
                IoMode::Auto | IoMode::Buffered => Ok(None),
            },
            Err(e) => Err(e),
        }
    }
}

impl Storage for DiskStorage {
    fn create(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        let spare = self.spare.as_ref().and_then(|spare| spare.take(path));
        let file = spare.map_or_else(|| new_private_file().open(path), Ok)?;
        let (storage, path) = (self.clone(), path.to_owned());
        let way = if self.clean { Way::WrittenBack(0) } else { Way::Cached };
        Ok(Box::new(DiskWriter { storage, path, file, len: 0, cached: 0, way }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        let (storage, path, file) = (self.clone(), path.to_owned(), File::open(path)?);
        Ok(Box::new(DiskFile { storage, path, file, direct: OnceLock::new() }))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        if let Some(share) = &self.share {
            share.forget(path);
        }
        match self.spare.as_ref().map(|spare| spare.keep(path)) {
            Some(Ok(true)) => Ok(()),
            // A file that cannot be emptied may still be removable.
            None | Some(Ok(false) | Err(_)) => fs::remove_file(path),
        }
    }

    fn set_cache_share(&self, bytes: u64) {
        if let Some(share) = &self.share {
            share.allow(bytes);
        }
    }

    fn cached_bytes(&self) -> u64 {
        self.share.as_ref().map_or(0, |share| share.taken())
    }
}

struct DiskWriter {
    storage: DiskStorage,
    path: PathBuf,
    file: File,
    len: u64,
    /// Number of leading bytes in the page cache.
    cached: u64,
    way: Way,
}

/// Ways to write the next bytes of a file.
enum Way {
    /// Into the page cache, to stay there.
    Cached,
    /// Through the page cache: pages are dropped once they are on disk, unless files may stay there. Bytes from this
    /// offset on are not yet written back.
    WrittenBack(u64),
    /// Around the page cache.
    Direct(DirectWriter),
}

impl DiskWriter {
    /// Writes the rest of the file around the page cache, because the file has no more room there.
    fn go_around(&mut self) -> io::Result<()> {
        self.cached = self.len;
        self.way = match self.storage.open_direct(&self.path, true)? {
            Some(direct) => Way::Direct(DirectWriter::new(direct, &self.storage.queue, self.len)),
            None => Way::WrittenBack(self.len),
        };
        Ok(())
    }

    /// Writes the bytes after `from` to the disk and drops them from the page cache, unless they may stay.
    fn write_back_from(&mut self, from: u64) -> io::Result<()> {
        let len = self.len - from;
        write_back(&self.file, from, len)?;
        if !self.storage.clean {
            drop_pages(&self.file, from, len)?;
        }
        self.way = Way::WrittenBack(self.len);
        Ok(())
    }
}

impl FileWriter for DiskWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let (Way::Cached, Some(share)) = (&self.way, &self.storage.share)
            && !share.take(&self.path, bytes.len() as u64)
        {
            self.go_around()?;
        }
        match &mut self.way {
            Way::Cached | Way::WrittenBack(_) => self.file.write_all_at(bytes, self.len)?,
            Way::Direct(direct) => direct.write(bytes, &self.file)?,
        }
        self.len += bytes.len() as u64;
        match self.way {
            Way::WrittenBack(from) if self.len - from >= PIECE => self.write_back_from(from),
            _ => Ok(()),
        }
    }

    fn cached(&self) -> u64 {
        match &self.way {
            Way::Cached => u64::MAX,
            Way::WrittenBack(_) if self.storage.clean => u64::MAX,
            Way::WrittenBack(_) => self.cached,
            Way::Direct(direct) => direct.first().unwrap_or(u64::MAX),
        }
    }

    fn shared(&self) -> u64 {
        match (&self.way, &self.storage.share) {
            (_, None) => 0,
            (Way::Cached, Some(_)) => self.len,
            (Way::WrittenBack(_) | Way::Direct(_), Some(_)) => self.cached,
        }
    }

    fn finish(mut self: Box<Self>) -> io::Result<Box<dyn StorageFile>> {
        match std::mem::replace(&mut self.way, Way::Cached) {
            Way::Cached => {}
            // A small rest is not worth waiting for.
            Way::WrittenBack(from) if self.len - from < SMALL => {}
            Way::WrittenBack(from) => self.write_back_from(from)?,
            Way::Direct(direct) => direct.finish(&self.file)?,
        }
        let DiskWriter { storage, path, file, .. } = *self;
        Ok(Box::new(DiskFile { storage, path, file, direct: OnceLock::new() }))
    }
}

struct DiskFile {
    storage: DiskStorage,
    path: PathBuf,
    file: File,
    /// The same file for direct I/O, once opening has been tried.
    direct: OnceLock<Option<Arc<File>>>,
}

impl StorageFile for DiskFile {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        FileExt::read_exact_at(&self.file, bytes, offset)
    }

    fn read_around(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let direct = if let Some(direct) = self.direct.get() {
            direct
        } else {
            let opened = self.storage.open_direct(&self.path, false)?;
            self.direct.get_or_init(|| opened)
        };
        match direct {
            Some(direct) => read_direct(direct, &self.storage.queue, bytes, offset),
            None => StorageFile::read_around(&self.file, bytes, offset),
        }
    }

    fn byte_len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}

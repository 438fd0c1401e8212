//! A storage with an account of its files' space.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::storage::{FileWriter, Storage, StorageFile};

/// An account of disk space.
pub trait SpaceAccount: Send + Sync {
    /// Takes note of bytes that are about to be written.
    ///
    /// # Errors
    /// If the account cannot be changed.
    fn take(&self, bytes: u64) -> io::Result<()>;
    /// Takes note of removed bytes.
    ///
    /// # Errors
    /// If the account cannot be changed.
    fn give_back(&self, bytes: u64) -> io::Result<()>;
}

/// A storage around another one, with an account of its files' space.
#[derive(Clone)]
pub struct AccountedStorage {
    inner: Arc<dyn Storage>,
    account: Arc<dyn SpaceAccount>,
}

impl AccountedStorage {
    /// A storage around `inner`.
    pub fn new(inner: Arc<dyn Storage>, account: impl SpaceAccount + 'static) -> Self {
        AccountedStorage { inner, account: Arc::new(account) }
    }
}

impl Storage for AccountedStorage {
    fn create(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        let inner = self.inner.create(path)?;
        Ok(Box::new(AccountedWriter { inner, account: self.account.clone() }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        self.inner.open(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let len = fs::metadata(path)?.len();
        self.inner.remove(path)?;
        self.account.give_back(len)
    }

    fn set_cache_share(&self, bytes: u64) {
        self.inner.set_cache_share(bytes);
    }

    fn cached_bytes(&self) -> u64 {
        self.inner.cached_bytes()
    }
}

struct AccountedWriter {
    inner: Box<dyn FileWriter>,
    account: Arc<dyn SpaceAccount>,
}

impl FileWriter for AccountedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.account.take(bytes.len() as u64)?;
        self.inner.write(bytes)
    }

    fn cached(&self) -> u64 {
        self.inner.cached()
    }

    fn shared(&self) -> u64 {
        self.inner.shared()
    }

    fn finish(self: Box<Self>) -> io::Result<Box<dyn StorageFile>> {
        self.inner.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DiskStorage, IoMode, Reserve};
    use super::*;

    #[test]
    fn files_take_the_place_of_the_reserve() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        if Reserve::create(&path("reserve"), 8 << 20).is_err() {
            eprintln!("SKIPPED: the file system of {} cannot reserve", folder.path().display());
            return;
        }
        let left = || fs::metadata(path("reserve")).unwrap().len();
        let disk = Arc::new(DiskStorage::with_share(IoMode::Auto));
        let reserve = Reserve::open(&path("reserve"), 1).unwrap();
        let storage = AccountedStorage::new(disk.clone(), reserve);
        storage.set_cache_share(3 << 20);
        let content: Vec<u8> = (0..6 << 20_u32).map(|i| (i % 251) as u8).collect();
        let mut file = storage.create(&path("file")).unwrap();
        for piece in content.chunks(1 << 20) {
            file.write(piece).unwrap();
        }
        assert_eq!((file.cached(), file.shared()), (3 << 20, 3 << 20));
        let file = file.finish().unwrap();
        assert_eq!((storage.cached_bytes(), disk.cached_bytes()), (3 << 20, 3 << 20));
        let mut read = vec![0; content.len()];
        file.read_exact_at(&mut read, 0).unwrap();
        assert!(read == content);
        assert_eq!(left(), 2 << 20);
        storage.remove(&path("file")).unwrap();
        assert!(!path("file").exists());
        assert_eq!((storage.cached_bytes(), left()), (0, (8 << 20) - (1 << 19)));
    }
}

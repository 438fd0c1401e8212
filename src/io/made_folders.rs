//! Folders that a command makes for what it writes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The folders that did not exist before a command came to write into them. This is the one rule for everything that a
/// command writes: missing folders are made, and removed again unless the command has [kept](Self::keep) them; never with
/// anything in them.
#[derive(Debug, Default)]
pub struct MadeFolders(Vec<PathBuf>);

impl MadeFolders {
    /// Makes `folder`, which the user names with `flag`, and those that it lies in, as far as they are missing.
    ///
    /// # Errors
    /// If one of them cannot be made; then none stays.
    pub fn create(folder: &Path, flag: &str) -> Result<Self> {
        Self::make(folder).map_err(|e| match e.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Error::io("create", folder, e)
            }
            _ => {
                let error = Error::input(folder, "", format!("cannot be made: {e}"));
                error.with_hint(format!("name another place with {flag}"))
            }
        })
    }

    /// Makes the folders that a file will lie in, as far as they are missing.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn create_for(file: &Path, flag: &str) -> Result<Self> {
        file.parent()
            .map_or_else(|| Ok(MadeFolders::default()), |folder| Self::create(folder, flag))
    }

    fn make(folder: &Path) -> io::Result<Self> {
        let is_missing = |p: &&Path| !p.as_os_str().is_empty() && !p.exists();
        let missing: Vec<&Path> = folder.ancestors().take_while(is_missing).collect();
        let mut made = MadeFolders::default();
        for folder in missing.into_iter().rev() {
            match fs::create_dir(folder) {
                Ok(()) => made.0.push(folder.to_owned()),
                // Another process was faster: it is that one's to remove.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
                Err(e) => return Err(e),
            }
        }
        Ok(made)
    }

    /// The folders, the outermost first.
    pub fn paths(&self) -> &[PathBuf] {
        &self.0
    }

    /// Leaves them where they are: the command has done what it was asked.
    pub fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for MadeFolders {
    fn drop(&mut self) {
        for folder in self.0.iter().rev() {
            // Fails, as it should, if something else has been put there.
            let _ = fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_go_unless_they_are_kept_or_hold_something() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        drop(MadeFolders::create(&root.join("a/b/c"), "--out").unwrap());
        assert!(!root.join("a").exists());

        let made = MadeFolders::create_for(&root.join("a/b/file"), "--out").unwrap();
        fs::write(root.join("a/other"), "x").unwrap();
        drop(made);
        assert!(root.join("a/other").exists() && !root.join("a/b").exists());

        MadeFolders::create(&root.join("a/b/c"), "--out").unwrap().keep();
        drop(MadeFolders::create(&root.join("a/b/c"), "--out").unwrap());
        assert!(root.join("a/b/c").exists());
    }

    #[test]
    fn what_was_made_goes_if_the_rest_cannot_be() {
        let root = tempfile::tempdir().unwrap();
        let long = "x".repeat(300);
        assert!(MadeFolders::create(&root.path().join("a").join(long), "--out").is_err());
        assert!(!root.path().join("a").exists());
        assert!(MadeFolders::create_for("file".as_ref(), "--out").unwrap().0.is_empty());
    }
}

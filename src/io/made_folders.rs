//! Folders that a command creates for its output.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Folders that did not exist before a command wrote into them. One rule holds for everything that a command writes: missing
/// folders are created, and removed again unless the command has [kept](Self::keep) them, but never with anything in them.
#[derive(Debug, Default)]
pub struct MadeFolders(Vec<PathBuf>);

impl MadeFolders {
    /// Creates `folder`, which the user names with `field`, and the missing ones of its parents.
    ///
    /// # Errors
    /// If one of them cannot be created; then none of them stays.
    pub fn create(folder: &Path, field: &str) -> Result<Self> {
        Self::make(folder).map_err(|e| match e.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Error::io("create", folder, e)
            }
            _ => {
                let error = Error::input(folder, "", format!("cannot be created: {e}"));
                error.with_hint(format!("name another place with ‹{field}›"))
            }
        })
    }

    /// Creates the missing folders that a file will lie in.
    ///
    /// # Errors
    /// As for [`create`](Self::create).
    pub fn create_for(file: &Path, field: &str) -> Result<Self> {
        file.parent()
            .map_or_else(|| Ok(MadeFolders::default()), |folder| Self::create(folder, field))
    }

    fn make(folder: &Path) -> io::Result<Self> {
        let is_missing = |p: &&Path| !p.as_os_str().is_empty() && !p.exists();
        let missing: Vec<&Path> = folder.ancestors().take_while(is_missing).collect();
        let mut made = MadeFolders::default();
        for folder in missing.into_iter().rev() {
            match fs::create_dir(folder) {
                Ok(()) => made.0.push(folder.to_owned()),
                // Another process was faster, and will remove the folder itself.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
                Err(e) => return Err(e),
            }
        }
        Ok(made)
    }

    /// The created folders, the outermost first.
    pub fn paths(&self) -> &[PathBuf] {
        &self.0
    }

    /// Leaves the folders where they are, because the command has succeeded.
    pub fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for MadeFolders {
    fn drop(&mut self) {
        for folder in self.0.iter().rev() {
            // This fails, as it should, if something else has been put there.
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
        drop(MadeFolders::create(&root.join("a/b/c"), "out").unwrap());
        assert!(!root.join("a").exists());

        let made = MadeFolders::create_for(&root.join("a/b/file"), "out").unwrap();
        fs::write(root.join("a/other"), "x").unwrap();
        drop(made);
        assert!(root.join("a/other").exists() && !root.join("a/b").exists());

        MadeFolders::create(&root.join("a/b/c"), "out").unwrap().keep();
        drop(MadeFolders::create(&root.join("a/b/c"), "out").unwrap());
        assert!(root.join("a/b/c").exists());
    }

    #[test]
    fn what_was_made_goes_if_the_rest_cannot_be() {
        let root = tempfile::tempdir().unwrap();
        let long = "x".repeat(300);
        assert!(MadeFolders::create(&root.path().join("a").join(long), "out").is_err());
        assert!(!root.path().join("a").exists());
        assert!(MadeFolders::create_for("file".as_ref(), "out").unwrap().0.is_empty());
    }
}

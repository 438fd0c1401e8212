//! Folders that a command creates for its output.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::words::error::{Error, Result};

/// Folders for results that a command has created, along with missing parents. Dropping this removes them again unless
/// the command has [kept](Self::keep) them, but never with anything in them. (Files get no new folders: see
/// [`Destination`](super::Destination).)
#[derive(Debug, Default)]
pub struct MadeFolders(Vec<PathBuf>);

impl MadeFolders {
    /// Creates `folder`, which the user names with `field`, and its missing parents.
    ///
    /// # Errors
    /// If a folder cannot be created; then none of them stays.
    pub fn create(folder: &Path, field: &str) -> Result<Self> {
        Self::make(folder).map_err(|e| Error::uncreatable(folder, field, &e))
    }

    fn make(folder: &Path) -> io::Result<Self> {
        let is_missing = |p: &&Path| !p.as_os_str().is_empty() && !p.exists();
        let missing: Vec<&Path> = folder.ancestors().take_while(is_missing).collect();
        let mut made = MadeFolders::default();
        for folder in missing.into_iter().rev() {
            match fs::create_dir(folder) {
                Ok(()) => made.0.push(folder.to_owned()),
                // Another process was faster, and will remove the folder.
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

    /// Leaves the folders in place, because the command has succeeded.
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

        let made = MadeFolders::create(&root.join("a/b"), "out").unwrap();
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
    }
}

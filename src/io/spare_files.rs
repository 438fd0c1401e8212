//! Removed files kept for reuse: for a file system, making a file takes many times as long as renaming one.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rustix::fs::{CWD, RenameFlags, renameat_with};

/// Largest number of spare files per folder.
const MOST: usize = 64;

/// Spare files of a process, by folder. They are empty, and keep their old names.
#[derive(Debug, Default)]
pub(super) struct SpareFiles(Mutex<HashMap<PathBuf, Vec<PathBuf>>>);

impl SpareFiles {
    /// Empties a file that has been read and keeps it for later; returns false if enough files are kept.
    pub(super) fn keep(&self, path: &Path) -> io::Result<bool> {
        let Some(folder) = path.parent() else { return Ok(false) };
        let mut folders = self.0.lock();
        let spare = folders.entry(folder.to_owned()).or_default();
        if spare.len() >= MOST {
            return Ok(false);
        }
        OpenOptions::new().write(true).truncate(true).open(path)?;
        spare.push(path.to_owned());
        Ok(true)
    }

    /// Renames a spare file of the same folder to `path` and opens it. Returns `None` if the folder has no spare file, has been
    /// cleared, or lies on a file system that cannot rename without overwriting. The caller then makes a new file, which reports errors.
    pub(super) fn take(&self, path: &Path) -> Option<File> {
        let spare = self.choose(path)?;
        if spare != path {
            renameat_with(CWD, &spare, CWD, path, RenameFlags::NOREPLACE).ok()?;
        }
        OpenOptions::new().read(true).write(true).open(path).ok()
    }

    /// A spare file in the folder of `path`: the file with this name, if it is spare.
    fn choose(&self, path: &Path) -> Option<PathBuf> {
        let mut folders = self.0.lock();
        let spare = folders.get_mut(path.parent()?)?;
        match spare.iter().position(|kept| kept == path) {
            Some(at) => Some(spare.swap_remove(at)),
            None => spare.pop(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spare_file_is_empty_and_overwrites_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second, third] = ["a", "b", "c"].map(|name| folder.path().join(name));
        let spare = SpareFiles::default();
        assert!(spare.take(&first).is_none());
        std::fs::write(&first, "old").unwrap();
        assert!(spare.keep(&first).unwrap());
        // Under its own name, and under another.
        assert_eq!(spare.take(&first).unwrap().metadata().unwrap().len(), 0);
        assert!(spare.keep(&first).unwrap());
        assert_eq!(spare.take(&second).unwrap().metadata().unwrap().len(), 0);
        assert!(!first.exists());
        assert!(spare.keep(&second).unwrap());
        std::fs::write(&third, "another").unwrap();
        assert!(spare.take(&third).is_none());
        assert_eq!(std::fs::read(&third).unwrap(), b"another");
        assert!(spare.keep(&folder.path().join("none")).is_err());
    }

    #[test]
    fn a_folder_has_a_bounded_number_of_spare_files() {
        let folder = tempfile::tempdir().unwrap();
        let spare = SpareFiles::default();
        let kept = (0..=MOST).filter(|number| {
            let path = folder.path().join(number.to_string());
            std::fs::write(&path, "old").unwrap();
            spare.keep(&path).unwrap()
        });
        assert_eq!(kept.count(), MOST);
    }
}

//! The folder of a run's spill and exchange files.
//!
//! It is named `sar-single-*` and holds the control file, which the launcher (and through it every worker) keeps locked
//! while it lives. A folder whose control file can be locked belongs to a run that was killed; the next start removes it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::event::show_note;
use crate::ipc::Control;

const PREFIX: &str = "sar-single-";
/// A folder is made under this prefix and gets its name once its control file is locked.
const UNFINISHED: &str = ".sar-single-";
/// An unfinished folder of this age belongs to nobody.
const ABANDONED: Duration = Duration::from_secs(60);

/// A run's folder; removed when dropped.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// Keeps the control file locked.
    _lock: File,
}

impl RunFolder {
    /// Makes the folder of a run in `spill_dir`, with its control file.
    pub fn create(spill_dir: &Path, world_size: usize, slots: usize) -> Result<(Self, Control)> {
        fs::create_dir_all(spill_dir).map_err(|e| {
            Error::input(spill_dir, "", format!("cannot be made: {e}"))
                .with_hint("name another folder for spilled data with --spill-dir")
        })?;
        let unfinished = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempdir_in(spill_dir)
            .map_err(|e| Error::io("create a folder in", spill_dir, e))?;
        let control_path = unfinished.path().join("control");
        let control = Control::create(&control_path, world_size, slots)?;
        let lock = File::open(&control_path).map_err(|e| Error::io("open", &control_path, e))?;
        lock.try_lock().map_err(|e| Error::io("lock", &control_path, e.into()))?;
        let name = unfinished.path().file_name().unwrap_or_default().to_string_lossy();
        let path = spill_dir.join(name.replacen(UNFINISHED, PREFIX, 1));
        fs::rename(unfinished.path(), &path).map_err(|e| Error::io("create", &path, e))?;
        // Renamed, it is no longer the temporary folder's to remove.
        let _ = unfinished.keep();
        Ok((RunFolder { path, _lock: lock }, control))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            show_note(&format!("cannot remove {}: {error}", self.path.display()));
        }
    }
}

/// Removes the folders of killed runs from `spill_dir`; gives those removed. A folder that cannot be looked at (another
/// user's) is left alone.
pub fn sweep(spill_dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(spill_dir).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path()).filter(|path| is_dead(path));
    paths.filter(|path| fs::remove_dir_all(path).is_ok()).collect()
}

fn is_dead(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let control = path.join("control");
    if name.starts_with(PREFIX) {
        File::open(&control).is_ok_and(|file| file.try_lock().is_ok())
    } else if name.starts_with(UNFINISHED) {
        let age = fs::metadata(path).and_then(|m| m.modified()).ok().and_then(|t| t.elapsed().ok());
        let unlocked = File::open(&control).map_or(true, |file| file.try_lock().is_ok());
        unlocked && age.is_some_and(|age| age > ABANDONED)
    } else {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_living_run_keeps_its_folder_and_a_dead_one_loses_it() {
        let spill = tempfile::tempdir().unwrap();
        let (living, _control) = RunFolder::create(spill.path(), 2, 1).unwrap();
        let (dead, _control) = RunFolder::create(spill.path(), 2, 1).unwrap();
        let dead_path = dead.path().to_owned();
        fs::write(dead_path.join("features-0.spill"), "x").unwrap();
        let RunFolder { _lock: lock, .. } = &dead;
        lock.unlock().unwrap();
        std::mem::forget(dead);
        fs::create_dir(spill.path().join("somebody-elses")).unwrap();

        assert_eq!(sweep(spill.path()), [dead_path]);
        assert!(living.path().join("control").exists());
        drop(living);
        let left: Vec<_> =
            fs::read_dir(spill.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["somebody-elses"]);
    }
}

//! Live runs of other processes.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::marked_folder::{CONTROL, PREFIX};
use crate::engine::turns::{Activity, Control, Request};
use crate::io::{UNFINISHED, drop_pages};
use crate::words::error::{Error, Result};

/// Path of the link from a results folder to the control file of its run.
pub fn link_in(results: &Path) -> PathBuf {
    results.join(format!("{UNFINISHED}control"))
}

/// A run whose launcher is alive, viewed from another process.
#[derive(Debug)]
pub struct LivingRun {
    /// The control block of the run.
    pub control: Control,
    path: PathBuf,
    file: File,
}

impl LivingRun {
    /// Finds the run that writes its results to a folder, or spills into it.
    ///
    /// # Errors
    /// If the folder does not exist, or no run is using it.
    pub fn find(folder: &Path) -> Result<Self> {
        fs::metadata(folder).map_err(|e| Error::unreadable(folder, &e))?;
        let spilled = folder.join(CONTROL);
        let path = if spilled.is_file() {
            Some(spilled)
        } else {
            // A run removes the link at its end; a killed run leaves it.
            fs::read_link(link_in(folder)).ok().filter(|path| path.is_file())
        };
        let run = path.map(Self::open).transpose()?.filter(Self::is_alive);
        run.ok_or_else(|| {
            Error::input(folder, "", "no run is using this folder")
                .with_hint("name the folder of results of a run that has not ended")
        })
    }

    /// All runs that spill into folders of `spill_dir`, sorted by folder name.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn all(spill_dir: &Path) -> Result<Vec<Self>> {
        let entries = fs::read_dir(spill_dir).map_err(|e| Error::unreadable(spill_dir, &e))?;
        let named = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX))
        };
        let mut folders: Vec<PathBuf> =
            entries.flatten().map(|entry| entry.path()).filter(named).collect();
        folders.sort();
        // A run may end meanwhile, and other users' runs cannot be read.
        let runs = folders.into_iter().filter_map(|path| Self::open(path.join(CONTROL)).ok());
        Ok(runs.filter(Self::is_alive).collect())
    }

    fn open(path: PathBuf) -> Result<Self> {
        let control = Control::open(&path)?;
        let file = File::open(&path).map_err(|e| Error::unreadable(&path, &e))?;
        Ok(LivingRun { control, path, file })
    }

    /// Whether the run has not ended, which shows in the launcher's lock of the control file.
    pub fn is_alive(&self) -> bool {
        let free = self.file.try_lock_shared().is_ok();
        // A process that cleans up may need the lock.
        let _ = self.file.unlock();
        !free && self.path.exists()
    }

    /// The folder of the run's files.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Whether all ranks are paused, or have ended.
    pub fn is_paused(&self) -> bool {
        let ranks = (0..self.control.num_ranks()).map(|rank| self.control.rank(rank).activity());
        // Ranks that must continue to a later place may not have noticed yet.
        self.control.is_due(Request::Pause)
            && ranks.into_iter().all(|a| matches!(a, Activity::Paused | Activity::Finished))
    }

    /// Drops the run's files from the page cache, because they are not read while the run is paused.
    ///
    /// # Errors
    /// If a file cannot be written to the disk.
    pub fn drop_page_cache(&self) -> Result<()> {
        for path in files_below(self.folder()) {
            let Ok(file) = File::open(&path) else { continue };
            file.sync_data().map_err(|e| Error::io("write", &path, e))?;
            let len = file.metadata().map_err(|e| Error::io("look at", &path, e))?.len();
            drop_pages(&file, 0, len).map_err(|e| Error::io("read", &path, e))?;
        }
        Ok(())
    }

    /// Disk space of the run's files, in bytes.
    pub fn disk_bytes(&self) -> u64 {
        use std::os::unix::fs::MetadataExt;
        let sizes =
            files_below(self.folder()).into_iter().filter_map(|path| fs::metadata(path).ok());
        sizes.map(|found| found.blocks() * 512).sum()
    }
}

/// Files in a run's folder and its ranks' folders, which may change at any time.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let of_entry = |entry: fs::DirEntry| match entry.file_type() {
        Ok(ty) if ty.is_dir() => files_below(&entry.path()),
        Ok(ty) if ty.is_file() => vec![entry.path()],
        _ => Vec::new(),
    };
    entries.flat_map(of_entry).collect()
}

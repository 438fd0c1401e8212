//! An output file with one row per node, to which every rank writes its own rows.

use std::fs::{File, OpenOptions};
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rustix::fs::OFlags;

use super::atomic::{UNFINISHED, remove_if_exists, replace};
use super::page_cache::ChangedPages;
use crate::words::error::{Error, Result};

/// Approximate number of bytes of neighbouring rows written together.
const RUN: usize = 1 << 20;

/// A file of a header and fixed-size rows, under a temporary name until complete. Ranks open it independently and write
/// in the places of their rows.
pub struct RowFile {
    path: PathBuf,
    file: File,
    header: Vec<u8>,
    row_bytes: usize,
    /// Bytes after the header that were written here, in writing order; `None` if not recorded.
    written: Option<Mutex<Vec<Range<u64>>>>,
    changed: ChangedPages,
}

impl RowFile {
    /// Opens the file that will become `path`. All ranks pass the same header and row size.
    ///
    /// # Errors
    /// If the file cannot be created (`Io`, `OutOfDisk`).
    pub fn open(path: &Path, header: Vec<u8>, row_bytes: usize) -> Result<Self> {
        let partial = partial_path(path);
        let mut options = OpenOptions::new();
        // In a folder open to others, a link of this name could lead to any file of the user.
        options
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .custom_flags(OFlags::NOFOLLOW.bits() as i32);
        let file = options.open(&partial).map_err(|e| Error::io("create", &partial, e))?;
        let (path, changed) = (path.to_owned(), ChangedPages::default());
        Ok(RowFile { path, file, header, row_bytes, written: None, changed })
    }

    /// The same file, recording from now on which rows are written.
    #[must_use]
    pub fn noting(self) -> Self {
        RowFile { written: Some(Mutex::default()), ..self }
    }

    /// Bytes after the header that this handle has written since it began [to record](RowFile::noting).
    pub(crate) fn written(&self) -> Vec<Range<u64>> {
        self.written.as_ref().map(|written| written.lock().clone()).unwrap_or_default()
    }

    /// Reads bytes after the header.
    pub(crate) fn read_back(&self, begin: u64, bytes: &mut [u8]) -> Result<()> {
        let read = self.file.read_exact_at(bytes, self.header.len() as u64 + begin);
        read.map_err(|e| Error::io("read", &partial_path(&self.path), e))
    }

    /// Writes bytes after the header.
    pub(crate) fn write_bytes(&self, begin: u64, bytes: &[u8]) -> Result<()> {
        self.write_at(self.header.len() as u64 + begin, bytes)
    }

    /// Writes rows, beginning at row `first`.
    ///
    /// # Errors
    /// If the file cannot be written (`Io`, `OutOfDisk`).
    pub fn write_rows(&self, first: u64, rows: &[u8]) -> Result<()> {
        let begin = first * self.row_bytes as u64;
        self.write_bytes(begin, rows)?;
        if let Some(written) = &self.written {
            let (mut written, end) = (written.lock(), begin + rows.len() as u64);
            match written.last_mut() {
                Some(last) if last.end == begin => last.end = end,
                _ => written.push(begin..end),
            }
        }
        Ok(())
    }

    /// Writes rows in these places; rows in consecutive places are written together.
    ///
    /// # Errors
    /// If the file cannot be written (`Io`, `OutOfDisk`).
    pub fn write_rows_at(&self, places: &[u64], rows: &[u8]) -> Result<()> {
        let mut order: Vec<u32> = (0..places.len() as u32).collect();
        order.sort_unstable_by_key(|&row| places[row as usize]);
        let (mut first, mut run) = (0, Vec::new());
        for row in order.into_iter().map(|row| row as usize) {
            let held = (run.len() / self.row_bytes) as u64;
            if held > 0 && (places[row] != first + held || run.len() >= RUN) {
                self.write_rows(first, &run)?;
                run.clear();
            }
            if run.is_empty() {
                first = places[row];
            }
            run.extend_from_slice(&rows[row * self.row_bytes..][..self.row_bytes]);
        }
        self.write_rows(first, &run)
    }

    /// Completes the file, and gives it its final name. One rank calls this, after all have written their rows.
    ///
    /// # Errors
    /// If the file cannot be written or renamed (`Io`, `OutOfDisk`).
    pub fn finish(self, num_rows: u64, trailer: &[u8]) -> Result<()> {
        self.seal(num_rows, trailer)?;
        RowFile::keep(&self.path)
    }

    /// Completes the file under its temporary name: writes the header, and `trailer` after `num_rows` rows.
    ///
    /// # Errors
    /// If the file cannot be written (`Io`, `OutOfDisk`).
    pub fn seal(&self, num_rows: u64, trailer: &[u8]) -> Result<()> {
        self.write_at(0, &self.header)?;
        self.write_rows(num_rows, trailer)?;
        // A file that a killed process left under the temporary name may be longer.
        let rows = num_rows * self.row_bytes as u64;
        let len = self.header.len() as u64 + rows + trailer.len() as u64;
        let synced = self.file.set_len(len).and_then(|()| self.file.sync_all());
        synced.map_err(|e| Error::io("write", &self.path, e))
    }

    /// Gives a complete file its final name, `path`.
    ///
    /// # Errors
    /// If it cannot be renamed (`Io`, `OutOfDisk`).
    pub fn keep(path: &Path) -> Result<()> {
        replace(&partial_path(path), path)
    }

    /// The header, which must keep its length.
    pub(super) fn header_mut(&mut self) -> &mut [u8] {
        &mut self.header
    }

    /// Removes a file that an unfinished run left under the temporary name of `path`.
    ///
    /// # Errors
    /// If the file cannot be removed (`Io`).
    pub fn remove_partial(path: &Path) -> Result<()> {
        remove_if_exists(&partial_path(path))
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let written = self.changed.write_all_at(&self.file, bytes, offset);
        written.map_err(|e| Error::io("write", &partial_path(&self.path), e))
    }
}

fn partial_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{UNFINISHED}{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_to_their_places_in_any_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        let file = RowFile::open(&path, b"head".to_vec(), 2).unwrap();
        let places = [7, 0, 2, 1, 9, 8, 4];
        let rows: Vec<u8> = places.iter().flat_map(|place| [*place, 100 + place]).collect();
        file.write_rows_at(&places.map(u64::from), &rows).unwrap();
        file.finish(10, b"end").unwrap();
        let rows = (0..10).flat_map(|row: u8| {
            let row = places.contains(&row).then_some([row, 100 + row]);
            row.unwrap_or_default()
        });
        let expected: Vec<u8> = b"head".iter().copied().chain(rows).chain(*b"end").collect();
        assert_eq!(std::fs::read(path).unwrap(), expected);
        RowFile::remove_partial(&folder.path().join("never written")).unwrap();
    }

    #[test]
    fn a_link_at_the_temporary_name_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let precious = folder.path().join("precious");
        std::fs::write(&precious, "years of work").unwrap();
        std::os::unix::fs::symlink(&precious, folder.path().join(".partial-rows.npy")).unwrap();
        let opened = RowFile::open(&folder.path().join("rows.npy"), vec![1; 8], 1);
        assert!(opened.is_err());
        assert_eq!(std::fs::read_to_string(precious).unwrap(), "years of work");
    }
}

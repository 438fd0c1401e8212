//! Names of the arrays and sparse matrices in an archive.

use std::path::{Path, PathBuf};

use super::archive::{Archive, is_archive};
use super::input::Input;
use super::sparse_archive::{ADJACENCY, ARRAYS, array_of, is_matrix};
use crate::words::error::{Error, Result};

/// Names of arrays and sparse matrices that are not yet removed.
pub(crate) struct ArchiveArrays {
    path: PathBuf,
    arrays: Vec<String>,
}

impl ArchiveArrays {
    /// The names in an archive, sorted.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        if !is_archive(&Input::open(path)?) {
            return Err(Error::input(path, "", "is not an archive of arrays (.npz)")
                .with_hint("pass a single array with ‹edges› or ‹node_data›"));
        }
        let archive = Archive::open(path)?;
        archive.check()?;
        let mut arrays: Vec<String> = archive.names().map(str::to_owned).collect();
        arrays.sort_unstable();
        Ok(ArchiveArrays { path: path.to_owned(), arrays })
    }

    /// The remaining names.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.arrays.iter().map(String::as_str).collect()
    }

    /// Name of the sparse matrix with edges, if any.
    pub(crate) fn sparse_edges(&self) -> Option<&'static str> {
        ["", ADJACENCY].into_iter().find(|matrix| is_matrix(matrix, |name| self.is_array(name)))
    }

    /// Whether an array or a sparse matrix has this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.is_array(name) || is_matrix(name, |array| self.is_array(array))
    }

    /// Removes an array, or the arrays of a sparse matrix.
    pub(crate) fn remove(&mut self, name: &str) {
        let parts = ARRAYS.map(|array| array_of(name, array));
        let is_one = self.is_array(name);
        self.arrays.retain(|array| array != name && (is_one || !parts.contains(array)));
    }

    /// The number in an array of one value.
    pub(crate) fn number(&self, name: &str) -> Result<u64> {
        let folder = std::env::temp_dir();
        let array = Archive::open(&self.path)?.read(name, &folder)?.array;
        let mut number = [0];
        if array.shape().iter().product::<u64>() != 1 {
            return Err(array.fail("does not hold one number"));
        }
        array.flat().read_u64(0..1, &mut number)?;
        Ok(number[0])
    }

    fn is_array(&self, name: &str) -> bool {
        self.arrays.iter().any(|array| array == name)
    }
}

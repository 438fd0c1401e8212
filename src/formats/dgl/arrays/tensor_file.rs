//! DGL's dictionaries of tensors: `node_feat.dgl`, `edge_feat.dgl`, `orig_nids.dgl`, `orig_eids.dgl`.

use super::array::ArrayRef;
use super::file::InputFile;
use super::header::HeaderReader;
use super::{magic, ndarray};
use crate::words::error::Result;
use std::collections::HashSet;
use std::path::Path;

/// The names and headers of a tensor dictionary, in file order.
#[derive(Clone, Debug)]
pub struct TensorFile {
    entries: Vec<(String, ArrayRef)>,
}

impl TensorFile {
    /// Reads the headers of `path`.
    ///
    /// # Errors
    /// If the file cannot be read, is not a tensor file, is cut short, has bytes left over, or has a key twice.
    pub fn open(path: &Path) -> Result<Self> {
        let file = InputFile::open(path)?;
        let mut reader = HeaderReader::new(&file);
        magic::expect_file(&mut reader, magic::TENSOR_FILE, "a DGL tensor file")?;
        let announced = reader.u64()?;
        let count = reader.count(8 + ndarray::MIN_BYTES)?;
        if announced != count as u64 {
            return Err(reader.fail(format!("announces {announced} tensors, but lists {count}")));
        }
        let entries = read_pairs(&mut reader, count, "")?;
        if reader.remaining() > 0 {
            reader.enter("");
            return Err(reader.fail(format!("{} bytes follow the last tensor", reader.remaining())));
        }
        Ok(TensorFile { entries })
    }

    /// Keys and arrays in file order.
    pub fn entries(&self) -> &[(String, ArrayRef)] {
        &self.entries
    }

    /// The array under `key`.
    pub fn get(&self, key: &str) -> Option<&ArrayRef> {
        find(&self.entries, key)
    }
}

/// Reads `count` pairs of a name and an array; errors name an array `prefix` + name. Names must be unique.
pub(crate) fn read_pairs(
    reader: &mut HeaderReader<'_>,
    count: usize,
    prefix: &str,
) -> Result<Vec<(String, ArrayRef)>> {
    let mut entries: Vec<(String, ArrayRef)> = Vec::with_capacity(count);
    for index in 0..count {
        reader.enter(format!("{prefix}#{index}"));
        let key = reader.string()?;
        reader.enter(format!("{prefix}{key}"));
        entries.push((key, ndarray::read(reader)?));
    }
    let mut seen = HashSet::with_capacity(count);
    if let Some((key, _)) = entries.iter().find(|(key, _)| !seen.insert(key.as_str())) {
        return Err(reader.fail(format!("{key:?} occurs twice")));
    }
    Ok(entries)
}

pub(crate) fn find<'a>(entries: &'a [(String, ArrayRef)], name: &str) -> Option<&'a ArrayRef> {
    entries.iter().find(|(key, _)| key == name).map(|(_, array)| array)
}

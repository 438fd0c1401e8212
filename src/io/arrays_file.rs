//! A safetensors file to which every rank writes its own part.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use super::array_header::{ArraySpec, safetensors_header};
use super::checksum::{FilePart, add_checksum};
use super::row_file::RowFile;
use crate::words::error::{Error, Result};

/// Named arrays in one file, under a temporary name until complete. Ranks open it independently, and each writes the
/// rows that it owns in their places.
pub struct ArraysFile {
    file: RowFile,
    /// Each array's first byte, and its size in bytes.
    places: BTreeMap<String, (u64, u64)>,
    len: u64,
}

impl ArraysFile {
    /// Opens the file that will become `path`. All ranks pass the same arrays and texts (`metadata`).
    ///
    /// # Errors
    /// If the file cannot be created, or an array has a type that safetensors files here cannot hold.
    pub fn open(
        path: &Path,
        mut arrays: Vec<ArraySpec<'_>>,
        metadata: &BTreeMap<String, String>,
    ) -> Result<Self> {
        // The widest elements come first, so that each lies at a multiple of its size.
        arrays.sort_by_key(|array| Reverse(array.dtype.size()));
        let header = safetensors_header(&arrays, metadata)?;
        let mut len = 0;
        let mut places = BTreeMap::new();
        for ArraySpec { name, dtype, shape } in arrays {
            let bytes = shape.iter().product::<u64>() * dtype.size() as u64;
            places.insert(name.to_owned(), (len, bytes));
            len += bytes;
        }
        Ok(ArraysFile { file: RowFile::open(path, header, 1)?.noting(), places, len })
    }

    /// Writes part of an array, from byte `first` of the array on.
    ///
    /// # Errors
    /// If the write fails, or the array has no such part.
    pub fn write(&self, name: &str, first: u64, bytes: &[u8]) -> Result<FilePart> {
        let len = bytes.len() as u64;
        match self.places.get(name) {
            Some((begin, all)) if first + len <= *all => {
                let begin = begin + first;
                self.file.write_rows(begin, bytes)?;
                Ok(FilePart { begin, len, crc: crc32fast::hash(bytes) })
            }
            _ => Err(Error::internal(format!("{name} has no place for {len} bytes"))),
        }
    }

    /// All arrays' bytes as rows of one byte.
    pub fn rows(&self) -> &RowFile {
        &self.file
    }

    /// Writes the header and gives the file its final name. One rank calls this, after all have written their parts.
    ///
    /// # Errors
    /// If the file cannot be written (`Io`, `OutOfDisk`).
    pub fn finish(self) -> Result<()> {
        self.file.finish(self.len, &[])
    }

    /// Like [`finish`](ArraysFile::finish), with the file's checksum in its header, as the text under the key
    /// [`CHECKSUM`](crate::io::CHECKSUM), for which the header must have a place. `parts` are the parts of all ranks.
    ///
    /// # Errors
    /// If the file cannot be written, or the parts do not cover all of it.
    pub fn finish_with_checksum(mut self, parts: Vec<FilePart>) -> Result<()> {
        add_checksum(self.file.header_mut(), parts, self.len)?;
        self.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{CHECKSUM, Dtype, NO_CHECKSUM};

    #[test]
    fn parts_come_together_whatever_was_there_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("all.safetensors");
        std::fs::write(folder.path().join(".partial-all.safetensors"), [7; 4096]).unwrap();
        let open = || {
            let rows = ArraySpec { name: "rows", dtype: Dtype::F32, shape: &[3, 1] };
            let count = ArraySpec { name: "count", dtype: Dtype::I64, shape: &[] };
            let metadata = [("key", "text"), (CHECKSUM, NO_CHECKSUM)];
            let metadata = metadata.map(|(key, text)| (key.to_owned(), text.to_owned())).into();
            ArraysFile::open(&path, vec![rows, count], &metadata).unwrap()
        };
        let last = open().write("rows", 8, &3_f32.to_le_bytes()).unwrap();
        let file = open();
        let first = file.write("rows", 0, bytemuck::cast_slice(&[1_f32, 2.0])).unwrap();
        let count = file.write("count", 0, &5_i64.to_le_bytes()).unwrap();
        assert!(file.write("rows", 8, &[0; 5]).is_err());
        assert!(open().finish_with_checksum(vec![first, count]).is_err());
        file.finish_with_checksum(vec![last, first, count]).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        // CRC-32 as zlib computes it.
        let key = b"\"crc32\":\"";
        let place = bytes.windows(key.len()).position(|part| part == key).unwrap() + key.len();
        let mut zeroed = bytes.clone();
        zeroed[place..place + 8].fill(b'0');
        let checksum = format!("{:08x}", crc32fast::hash(&zeroed));
        assert_eq!(&bytes[place..place + 8], checksum.as_bytes());
        let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let rows = file.tensor("rows").unwrap();
        assert_eq!(rows.data(), bytemuck::cast_slice::<f32, u8>(&[1.0, 2.0, 3.0]));
        assert_eq!(file.tensor("count").unwrap().data(), 5_i64.to_le_bytes());
    }
}

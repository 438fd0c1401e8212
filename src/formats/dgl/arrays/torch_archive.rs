//! Zip archives written by `torch.save`: one pickle and the bytes of each tensor, stored uncompressed.

use super::array::ArrayRef;
use super::file::InputFile;
use super::magic;
use super::pickle::Pickle;
use super::pickle_value::Tensor;
use crate::io::open_input;
use crate::words::error::{Error, Result};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use zip::{CompressionMethod, ZipArchive};

/// Maximum size of a pickle in bytes. A graph's pickle takes some kilobytes, because arrays are in other members. Each
/// byte of a pickle may become a value of 32 bytes, so larger pickles are refused.
const MAX_PICKLE: u64 = 1 << 20;

/// Location of a member's bytes.
#[derive(Clone, Copy, Debug)]
struct Member {
    offset: u64,
    len: u64,
}

/// The directory of an archive, and its pickle.
#[derive(Debug)]
pub(crate) struct TorchArchive {
    file: Arc<InputFile>,
    root: String,
    members: HashMap<String, Member>,
    pickle: Vec<u8>,
}

impl TorchArchive {
    /// Reads the directory and the pickle of `path`.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = InputFile::open(path)?;
        let mut zip = open_zip(&file)?;
        let mut members = HashMap::new();
        let mut root = None;
        for index in 0..zip.len() {
            let member = zip.by_index_raw(index).map_err(|e| unreadable(&file, &e.to_string()))?;
            let name = member.name().map_err(|e| unreadable(&file, &e.to_string()))?.into_owned();
            let (offset, len) = (member.data_start().unwrap_or(u64::MAX), member.size());
            let inside = offset.checked_add(len).is_some_and(|end| end <= file.len());
            if member.compression() != CompressionMethod::Stored || member.encrypted() || !inside {
                return Err(file.fail(&name, "is not stored as torch.save stores it"));
            }
            if let Some(folder) = name.strip_suffix("/data.pkl") {
                root = Some((index, folder.to_owned()));
            }
            if members.insert(name.clone(), Member { offset, len }).is_some() {
                return Err(file.fail(&name, "occurs twice in the archive"));
            }
        }
        let Some((index, root)) = root else {
            return Err(file.fail("", "holds no data.pkl: it was not written by torch.save"));
        };
        let pickle = read_member(&mut zip, index, &file)?;
        let archive = TorchArchive { file, root, members, pickle };
        archive.check_byte_order()?;
        Ok(archive)
    }

    /// The archive's file.
    pub(crate) fn file(&self) -> &Arc<InputFile> {
        &self.file
    }

    /// The content of `data.pkl`.
    pub(crate) fn pickle(&self) -> Result<Pickle<'_>> {
        Pickle::load(&self.pickle)
            .map_err(|e| self.file.fail("data.pkl", format!("{} (byte {})", e.problem, e.offset)))
    }

    /// The array that a tensor of the pickle stands for; errors call it `name`.
    pub(crate) fn array(&self, name: &str, tensor: &Tensor<'_>) -> Result<ArrayRef> {
        let storage = &tensor.storage;
        let member = self.members.get(&format!("{}/data/{}", self.root, storage.key));
        let Some(member) = member else {
            return Err(self.file.fail(name, format!("its storage {:?} is missing", storage.key)));
        };
        let size = storage.dtype.size() as u64;
        if storage.len.checked_mul(size) != Some(member.len) {
            return Err(self.file.fail(
                name,
                format!("{} bytes do not hold {} x {}", member.len, storage.len, storage.dtype),
            ));
        }
        if !is_row_major(&tensor.size, &tensor.stride) {
            let problem =
                format!("strides {:?} of {:?} are not row-major", tensor.stride, tensor.size);
            return Err(self
                .file
                .fail(name, problem)
                .with_hint("save a contiguous copy: torch.save(tensor.contiguous(), FILE)"));
        }
        let count = tensor.size.iter().try_fold(1u64, |product, &n| product.checked_mul(n));
        let count = if tensor.size.contains(&0) { Some(0) } else { count };
        let end = count.and_then(|count| count.checked_add(tensor.offset));
        if end.is_none_or(|end| end > storage.len) {
            return Err(self.file.fail(name, "reaches beyond its storage"));
        }
        let offset = member.offset + tensor.offset * size;
        ArrayRef::new(&self.file, name, storage.dtype, tensor.size.clone(), offset)
            .ok_or_else(|| self.file.fail(name, "lies beyond the end of the file"))
    }

    fn check_byte_order(&self) -> Result<()> {
        // Archives of torch before 2.1 lack this entry and have the machine's byte order.
        let name = format!("{}/byteorder", self.root);
        let Some(member) = self.members.get(&name) else { return Ok(()) };
        let mut text = vec![0; member.len.min(16) as usize];
        self.file.read_at(&name, member.offset, &mut text)?;
        if text == b"little" {
            return Ok(());
        }
        Err(self.file.fail(&name, "only little-endian files can be read"))
    }
}

/// Compares every member of the archive with its checksum, which reads the whole file.
pub(crate) fn verify_checksums(path: &Path) -> Result<()> {
    let file = InputFile::open(path)?;
    let mut zip = open_zip(&file)?;
    let mut buffer = vec![0; 16 << 10];
    for index in 0..zip.len() {
        let mut member = zip.by_index(index).map_err(|e| unreadable(&file, &e.to_string()))?;
        loop {
            match member.read(&mut buffer) {
                Ok(0) => break,
                Ok(_) => {}
                Err(e) => return Err(unreadable(&file, &e.to_string())),
            }
        }
    }
    Ok(())
}

fn open_zip(file: &InputFile) -> Result<ZipArchive<BufReader<File>>> {
    let mut start = vec![0; file.len().min(8) as usize];
    file.read_at("", 0, &mut start)?;
    if let Some(kind) = magic::kind_of(&start).filter(|kind| !kind.contains("PyTorch")) {
        return Err(file.fail("", format!("this is {kind}, not a PyTorch file")));
    }
    let reader = open_input(file.path()).map_err(|e| Error::unreadable(file.path(), &e))?;
    ZipArchive::new(BufReader::with_capacity(4096, reader))
        .map_err(|e| unreadable(file, &e.to_string()))
}

fn read_member(
    zip: &mut ZipArchive<BufReader<File>>,
    index: usize,
    file: &InputFile,
) -> Result<Vec<u8>> {
    let mut member = zip.by_index(index).map_err(|e| unreadable(file, &e.to_string()))?;
    if member.size() > MAX_PICKLE {
        return Err(file.fail("data.pkl", "is too large to describe a graph"));
    }
    let mut bytes = Vec::with_capacity(member.size() as usize);
    member.read_to_end(&mut bytes).map_err(|e| unreadable(file, &e.to_string()))?;
    Ok(bytes)
}

fn unreadable(file: &InputFile, reason: &str) -> Error {
    file.fail("", format!("cannot be read as a PyTorch archive: {reason}"))
}

fn is_row_major(size: &[u64], stride: &[u64]) -> bool {
    if size.len() != stride.len() {
        return false;
    }
    if size.contains(&0) {
        return true;
    }
    let mut due = 1u64;
    for (&size, &stride) in size.iter().zip(stride).rev() {
        if size > 1 && stride != due {
            return false;
        }
        due = due.saturating_mul(size);
    }
    true
}

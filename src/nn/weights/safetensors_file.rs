//! Safetensors files whose tensors are read one by one.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use tch::{Kind, Tensor};

use crate::engine::tensor;
use crate::io::{CHECKSUM, is_intact, open_input};
use crate::words::error::{Error, Result};

/// First bytes of an archive, as `torch.save` writes it.
const ZIP: &[u8] = b"PK\x03\x04";
/// The remedy for files of `torch.save`.
const OF_TORCH: &str = "load it in Python: sar_single.train(..., init_params=torch.load(FILE)); or convert a state dict with \
     safetensors.torch.save_file(torch.load(FILE), NEW)";

/// An open safetensors file with its header.
pub(crate) struct SafetensorsFile {
    path: PathBuf,
    file: File,
    header: Metadata,
    /// Offset of the tensors.
    data: u64,
}

impl SafetensorsFile {
    /// Opens a file; `what` is the expected kind of file in messages ("a checkpoint").
    pub(crate) fn open(path: &Path, what: &str) -> Result<Self> {
        let unreadable = |e: std::io::Error| Error::unreadable(path, &e);
        let wrong = |problem: &str| Error::input(path, "", format!("is not {what}: {problem}"));
        let file = open_input(path).map_err(unreadable)?;
        let len = file.metadata().map_err(unreadable)?.len();
        let mut size = [0; 8];
        file.read_exact_at(&mut size, 0).map_err(|_| wrong("it ends before its header"))?;
        if size.starts_with(ZIP) {
            return Err(wrong("torch.save wrote it").with_hint(OF_TORCH));
        }
        let size = u64::from_le_bytes(size);
        if size > len - 8 {
            return Err(wrong("it ends before its header"));
        }
        let mut header = vec![0; size as usize];
        file.read_exact_at(&mut header, 8).map_err(unreadable)?;
        let header: Metadata =
            serde_json::from_slice(&header).map_err(|e| wrong(&e.to_string()))?;
        let data = 8 + size;
        if data.checked_add(header.data_len() as u64) != Some(len) {
            return Err(wrong("its length differs from its header"));
        }
        Ok(SafetensorsFile { path: path.to_owned(), file, header, data })
    }

    /// Compares the whole file with the checksum in its header. Returns `false` if there is no checksum, because an
    /// earlier version or another program wrote the file.
    pub(crate) fn verify(&self) -> Result<bool> {
        let stored = self.text(CHECKSUM);
        if stored.is_empty() {
            return Ok(false);
        }
        let unreadable = |e: std::io::Error| Error::unreadable(&self.path, &e);
        let mut front = vec![0; self.data as usize];
        self.file.read_exact_at(&mut front, 0).map_err(unreadable)?;
        if is_intact(&self.file, front, stored).map_err(unreadable)? {
            return Ok(true);
        }
        let hint = "restore the file from a copy; if you changed it on purpose, remove the entry crc32 from its header";
        Err(self.wrong("", "is damaged: its content does not match its checksum").with_hint(hint))
    }

    /// Keys of the header's texts.
    pub(crate) fn text_keys(&self) -> impl Iterator<Item = &str> {
        self.header.metadata().iter().flat_map(|texts| texts.keys()).map(String::as_str)
    }

    /// A text of the header; "" if it is missing.
    pub(crate) fn text(&self, key: &str) -> &str {
        let texts = self.header.metadata().as_ref();
        texts.and_then(|texts| texts.get(key)).map_or("", String::as_str)
    }

    /// Names of all tensors, in the order in which they are stored.
    pub(crate) fn names(&self) -> Vec<String> {
        self.header.offset_keys()
    }

    /// The shape of a tensor; `None` if the name is unknown.
    pub(crate) fn shape(&self, name: &str) -> Option<Vec<i64>> {
        let info = self.header.info(name)?;
        Some(info.shape.iter().map(|side| *side as i64).collect())
    }

    /// Reads a tensor in its stored type.
    pub(crate) fn read(&self, name: &str) -> Result<Tensor> {
        let shape = self.shape(name).unwrap_or_default();
        self.read_part(name, &shape, 0)
    }

    /// Reads `rows` rows of a matrix, starting with row `first`.
    pub(crate) fn read_rows(&self, name: &str, first: u64, rows: i64) -> Result<Tensor> {
        let width = match self.shape(name).as_deref() {
            Some([all, width]) if first as i64 + rows <= *all => *width,
            _ => return Err(self.wrong(name, "does not have these rows")),
        };
        self.read_part(name, &[rows, width], first * width as u64)
    }

    /// An error about a tensor.
    pub(crate) fn wrong(&self, name: &str, problem: impl Into<String>) -> Error {
        Error::input(&self.path, name, problem)
    }

    /// Reads elements of a tensor from index `first` on, and gives them this shape.
    fn read_part(&self, name: &str, shape: &[i64], first: u64) -> Result<Tensor> {
        let info = self.header.info(name).ok_or_else(|| self.wrong(name, "is missing"))?;
        let TensorInfo { dtype, data_offsets: (begin, _), .. } = info;
        let kind = match dtype {
            Dtype::F16 => Kind::Half,
            Dtype::BF16 => Kind::BFloat16,
            Dtype::F32 => Kind::Float,
            Dtype::F64 => Kind::Double,
            Dtype::I64 => Kind::Int64,
            other => {
                let problem = format!("has type {other:?}, which weights cannot have");
                return Err(self.wrong(name, problem));
            }
        };
        let mut value = tensor::empty(shape, kind)?;
        let place = self.data + *begin as u64 + first * kind.elt_size_in_bytes() as u64;
        let read = self.file.read_exact_at(&mut tensor::bytes_mut(&mut value), place);
        read.map_err(|e| Error::unreadable(&self.path, &e))?;
        Ok(value)
    }
}

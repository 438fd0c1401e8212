//! The decompressed bytes of a file.

use std::fs::File;
use std::io::{Cursor, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;

use super::zip_member;
use crate::io::open_input;
use crate::words::error::{Error, Result};

/// Number of bytes that are examined at the start of a file.
const HEAD: u64 = 64 << 10;

/// The byte order mark that some programs write at the start of a file.
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// A compression or archive format, recognised by a file's first bytes.
pub(crate) struct Packing {
    pub(crate) name: &'static str,
    magic: &'static [u8],
    /// Whether a file has this packing, judged by its first bytes.
    has: fn(&Path) -> bool,
    unpack: fn(Counted) -> std::io::Result<Box<dyn Read>>,
}

/// All ways to pack a file.
static PACKINGS: [Packing; 3] = [
    Packing {
        name: "gzip",
        magic: &[0x1f, 0x8b],
        has: |_| true,
        unpack: |file| Ok(Box::new(MultiGzDecoder::new(file))),
    },
    Packing {
        name: "zstd",
        magic: &[0x28, 0xb5, 0x2f, 0xfd],
        has: |_| true,
        unpack: |file| Ok(Box::new(zstd::Decoder::new(file)?)),
    },
    Packing {
        name: "zip",
        magic: b"PK\x03\x04",
        has: zip_member::is_one_file,
        unpack: |file| zip_member::unpack(&file.file.try_clone()?, file),
    },
];

/// A file of which the start has been read.
pub(crate) struct Input {
    pub(crate) path: PathBuf,
    /// The first bytes, unpacked.
    pub(crate) head: Vec<u8>,
    /// Whether `head` is the whole file.
    pub(crate) is_whole: bool,
    /// How the file is packed.
    pub(crate) packing: Option<&'static Packing>,
}

/// The bytes of a file from its start on.
pub(crate) struct ByteStream {
    bytes: Box<dyn Read>,
    read: Arc<AtomicU64>,
}

impl Read for ByteStream {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.bytes.read(buffer)
    }
}

impl ByteStream {
    /// Number of bytes read so far; compressed bytes if the file is compressed.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}

impl Input {
    /// Opens a file and reads its start.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let mut start = Vec::new();
        let file = open_input(path).map_err(|e| {
            let error = Error::unreadable(path, &e);
            match e.kind() {
                ErrorKind::InvalidInput => error.with_hint("for standard input pass - as the file"),
                _ => error,
            }
        })?;
        let read = file.take(8).read_to_end(&mut start);
        read.map_err(|e| Error::unreadable(path, &e))?;
        let mut packings = PACKINGS.iter().filter(|packing| start.starts_with(packing.magic));
        let packing = packings.find(|packing| (packing.has)(path));
        let mut input = Input { path: path.to_owned(), head: Vec::new(), is_whole: false, packing };
        let mut head = Vec::new();
        let read = input.stream()?.take(HEAD).read_to_end(&mut head);
        read.map_err(|e| Error::unreadable(path, &e))?;
        input.is_whole = (head.len() as u64) < HEAD;
        input.head = head;
        Ok(input)
    }

    /// The bytes of the file, unpacked, without a byte order mark.
    pub(crate) fn stream(&self) -> Result<ByteStream> {
        let fail = |e| Error::unreadable(&self.path, &e);
        let file = open_input(&self.path).map_err(fail)?;
        let read = Arc::new(AtomicU64::new(0));
        let file = Counted { file, read: Arc::clone(&read) };
        let mut bytes: Box<dyn Read> = match self.packing {
            Some(packing) => (packing.unpack)(file).map_err(fail)?,
            None => Box::new(file),
        };
        let mut start = Vec::new();
        let length = BYTE_ORDER_MARK.len() as u64;
        bytes.by_ref().take(length).read_to_end(&mut start).map_err(fail)?;
        start = start.strip_prefix(&BYTE_ORDER_MARK).map(<[u8]>::to_vec).unwrap_or(start);
        let bytes = Box::new(Cursor::new(start).chain(bytes));
        Ok(ByteStream { bytes, read })
    }

    /// Whether the file's name ends with this extension, ignoring that of a compression.
    pub(crate) fn has_extension(&self, extension: &str) -> bool {
        let name = self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let name = match self.packing {
            Some(_) => name.rsplit_once('.').map_or(name, |(name, _)| name),
            None => name,
        };
        name.rsplit_once('.').is_some_and(|(_, end)| end.eq_ignore_ascii_case(extension))
    }

    /// An error about the file as a whole.
    pub(crate) fn fail(&self, problem: impl Into<String>) -> Error {
        Error::input(&self.path, "", problem)
    }
}

/// A file that counts the bytes read from it.
struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl Seek for Counted {
    fn seek(&mut self, place: SeekFrom) -> std::io::Result<u64> {
        self.file.seek(place)
    }
}

//! Zip archives of a single file.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom};
use std::path::Path;

use flate2::Crc;
use flate2::read::DeflateDecoder;
use zip::{CompressionMethod, ZipArchive};

/// Index of the only file in an archive, not counting macOS's folders and notes.
fn only_file(zip: &ZipArchive<File>) -> Option<usize> {
    let is_file = |name: &str| !name.ends_with('/') && !name.starts_with("__MACOSX/");
    let names = (0..zip.len()).filter_map(|at| Some((at, zip.name_for_index(at)?.ok()?)));
    let mut files = names.filter(|(_, name)| is_file(name));
    let (at, name) = files.next()?;
    (files.next().is_none() && !name.ends_with(".npy")).then_some(at)
}

/// Whether an archive holds a single file, which is not an array.
pub(super) fn is_one_file(path: &Path) -> bool {
    let zip = File::open(path).ok().and_then(|file| ZipArchive::new(file).ok());
    zip.is_some_and(|zip| only_file(&zip).is_some())
}

/// Unpacks the only file of an archive; `counted` reads the same archive.
pub(super) fn unpack(
    archive: &File,
    mut counted: impl Read + Seek + 'static,
) -> Result<Box<dyn Read>> {
    let mut zip = ZipArchive::new(archive.try_clone()?)?;
    let at = only_file(&zip).ok_or(ErrorKind::InvalidData)?;
    let member = zip.by_index_raw(at)?;
    let start = member.data_start().ok_or(ErrorKind::InvalidData)?;
    let (method, due) = (member.compression(), member.crc32());
    let packed = member.compressed_size();
    if member.encrypted() {
        return Err(Error::new(ErrorKind::Unsupported, "the zip archive is encrypted"));
    }
    counted.seek(SeekFrom::Start(start))?;
    let bytes: Box<dyn Read> = match method {
        CompressionMethod::Stored => Box::new(counted.take(packed)),
        CompressionMethod::Deflated => Box::new(DeflateDecoder::new(counted.take(packed))),
        other => {
            let problem = format!("the zip archive is compressed by {other}");
            return Err(Error::new(ErrorKind::Unsupported, problem));
        }
    };
    Ok(Box::new(Checked { bytes, sum: Crc::new(), due }))
}

/// Bytes whose checksum is verified at their end.
struct Checked {
    bytes: Box<dyn Read>,
    sum: Crc,
    due: u32,
}

impl Read for Checked {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.bytes.read(buffer)?;
        self.sum.update(&buffer[..count]);
        if count == 0 && !buffer.is_empty() && self.sum.sum() != self.due {
            return Err(Error::new(ErrorKind::InvalidData, "the zip archive is damaged"));
        }
        Ok(count)
    }
}

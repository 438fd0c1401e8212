//! Checksum in the header of a safetensors file that ranks write together: a CRC-32 of the whole file, computed with
//! zeros in place of the checksum's eight digits.

use std::fs::File;

use super::storage::StorageFile;
use crate::words::error::{Error, Result};

/// Key of the checksum among the header's texts.
pub const CHECKSUM: &str = "crc32";

/// Placeholder during the computation of the checksum.
pub const NO_CHECKSUM: &str = "00000000";

/// Bytes read at a time.
const BLOCK: usize = 1 << 20;

/// A run of bytes that a rank has written: its place, counted from the end of the header, and its CRC-32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilePart {
    /// Offset of the first byte.
    pub begin: u64,
    /// Number of bytes.
    pub len: u64,
    /// CRC-32 of the bytes.
    pub crc: u32,
}

/// Writes a file's checksum into its header. The parts cover everything after the header, in any order.
pub(super) fn add_checksum(header: &mut [u8], mut parts: Vec<FilePart>, len: u64) -> Result<()> {
    let place =
        digits(header).ok_or_else(|| Error::internal("a header has no place for a checksum"))?;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(header);
    parts.sort_by_key(|part| (part.begin, part.len));
    let mut end = 0;
    for FilePart { begin, len, crc } in parts {
        if begin != end {
            let problem = format!("the parts of a file leave a gap or overlap at byte {end}");
            return Err(Error::internal(problem));
        }
        hasher.combine(&crc32fast::Hasher::new_with_initial_len(crc, len));
        end += len;
    }
    if end != len {
        return Err(Error::internal(format!("the parts of a file have {end} bytes, not {len}")));
    }
    let text = format!("{:08x}", hasher.finalize());
    header[place..place + text.len()].copy_from_slice(text.as_bytes());
    Ok(())
}

/// Whether a file matches its stored checksum. `header` is the front of the file, including the header's length.
/// Reading leaves nothing in the page cache.
///
/// # Errors
/// If the file cannot be read.
pub fn is_intact(file: &File, mut header: Vec<u8>, stored: &str) -> std::io::Result<bool> {
    let Some(place) = digits(&header) else { return Ok(false) };
    header[place..place + NO_CHECKSUM.len()].copy_from_slice(NO_CHECKSUM.as_bytes());
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&header);
    let (mut at, end) = (header.len() as u64, file.byte_len()?);
    let mut block = vec![0; BLOCK];
    while at < end {
        let bytes = &mut block[..BLOCK.min((end - at) as usize)];
        file.read_around(bytes, at)?;
        hasher.update(bytes);
        at += bytes.len() as u64;
    }
    Ok(format!("{:08x}", hasher.finalize()) == stored)
}

/// Place of the checksum's digits in a header. (Quotes inside a text are escaped, so only the key itself looks like this.)
fn digits(header: &[u8]) -> Option<usize> {
    let key = format!("\"{CHECKSUM}\":\"");
    let place = header.windows(key.len()).position(|bytes| bytes == key.as_bytes())? + key.len();
    let behind = header.get(place + NO_CHECKSUM.len())?;
    (*behind == b'"').then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Several blocks and a part of one.
    const BODY: usize = 2 * BLOCK + 1000;

    #[test]
    fn any_changed_byte_of_a_file_is_found() {
        let body: Vec<u8> = (0..BODY).map(|i| (i % 251) as u8).collect();
        let half = BODY / 2;
        let part = |begin: usize, end: usize| FilePart {
            begin: begin as u64,
            len: (end - begin) as u64,
            crc: crc32fast::hash(&body[begin..end]),
        };
        let mut header = format!("{{\"{CHECKSUM}\":\"{NO_CHECKSUM}\"}}").into_bytes();
        add_checksum(&mut header, vec![part(half, BODY), part(0, half)], BODY as u64).unwrap();
        let place = digits(&header).unwrap();
        let stored = String::from_utf8(header[place..][..NO_CHECKSUM.len()].to_vec()).unwrap();

        let intact = |body: &[u8]| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("file");
            std::fs::write(&path, [&header, body].concat()).unwrap();
            is_intact(&File::open(path).unwrap(), header.clone(), &stored).unwrap()
        };
        assert!(intact(&body));
        for place in [0, BLOCK - 1, BLOCK, 2 * BLOCK, BODY - 1] {
            let mut changed = body.clone();
            changed[place] ^= 4;
            assert!(!intact(&changed), "byte {place}");
        }
        assert!(!intact(&body[..BODY - 1]));

        let gap = vec![part(0, half), part(half + 1, BODY)];
        assert!(add_checksum(&mut header.clone(), gap, BODY as u64).is_err());
        assert!(add_checksum(&mut header.clone(), vec![part(0, half)], BODY as u64).is_err());
    }
}

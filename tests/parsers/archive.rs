//! Zip archives around mutated content.

use std::io::{Cursor, Read, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// Names and contents of an archive's members.
pub(crate) type Members = Vec<(String, Vec<u8>)>;

pub(crate) fn members(archive: &[u8]) -> Members {
    let mut zip = ZipArchive::new(Cursor::new(archive)).unwrap();
    (0..zip.len())
        .map(|at| {
            let mut member = zip.by_index(at).unwrap();
            let mut content = Vec::new();
            member.read_to_end(&mut content).unwrap();
            (member.name().unwrap().into_owned(), content)
        })
        .collect()
}

pub(crate) fn archive<'a>(
    members: impl Iterator<Item = (&'a str, &'a [u8])>,
    method: CompressionMethod,
) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, content) in members {
        zip.start_file(name, options).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

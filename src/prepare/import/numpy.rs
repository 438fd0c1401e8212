//! numpy's archives.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use super::format::Format;
use crate::error::{Error, Result};
use crate::formats::dgl::ArrayRef;
use crate::formats::dgl::file::InputFile;
use crate::formats::dgl::npy::{NpyArray, read_npy};
use crate::io::open_input;

/// Number of bytes unpacked at a time.
const BUFFER: usize = 256 << 10;

/// Names of edge arrays that are tried if an archive holds more than one array.
const USUAL_EDGES: [&str; 3] = ["edge_index", "edges", "edge_list"];

/// Opens the array of a `.npy` file, or the array `name` of a `.npz` file. Compressed members of an archive are unpacked into
/// unnamed files in `folder`; others stay where they are.
pub(super) fn open_array(path: &Path, name: Option<&str>, folder: &Path) -> Result<NpyArray> {
    let file = InputFile::open(path)?;
    if Format::of(path)? != Format::Npz {
        return read_npy(&file, 0..file.len());
    }
    let mut archive = open_archive(path)?;
    let names = names(path, &archive)?;
    let member = choose(&names, name).ok_or_else(|| {
        let mut held: Vec<&str> = names.iter().map(|name| stem(name)).collect();
        held.sort_unstable();
        let wanted = name.map_or_else(|| USUAL_EDGES.join(" or "), str::to_owned);
        let problem = format!("holds several arrays, but none named {wanted}");
        Error::input(path, "", problem).with_hint(format!(
            "it holds {}; save the one you need in a separate file",
            held.join(", ")
        ))
    })?;
    let mut stored = archive.by_name(member).map_err(|e| unzippable(path, &e))?;
    if let (CompressionMethod::Stored, Some(start)) = (stored.compression(), stored.data_start()) {
        return read_npy(&file, start..file.len().min(start.saturating_add(stored.size())));
    }
    let mut unpacked = tempfile::tempfile_in(folder).map_err(|e| Error::io("create", folder, e))?;
    let mut buffer = vec![0; BUFFER];
    loop {
        // A member that cannot be unpacked or fails its checksum is an error of the user's file; a failure to write is ours.
        let len = stored.read(&mut buffer).map_err(|e| Error::unreadable(path, &e))?;
        if len == 0 {
            break;
        }
        let written = unpacked.write_all(&buffer[..len]);
        written.map_err(|e| Error::io("write a temporary file in", folder, e))?;
    }
    let unpacked = InputFile::from_open(path, unpacked)?;
    read_npy(&unpacked, 0..unpacked.len())
}

/// Whether an archive has an array with this name.
pub(super) fn holds(path: &Path, name: &str) -> Result<bool> {
    let names = names(path, &open_archive(path)?)?;
    Ok(names.iter().any(|member| stem(member) == name))
}

fn open_archive(path: &Path) -> Result<ZipArchive<File>> {
    let file = open_input(path).map_err(|e| Error::unreadable(path, &e))?;
    ZipArchive::new(file).map_err(|e| unzippable(path, &e))
}

fn names(path: &Path, archive: &ZipArchive<File>) -> Result<Vec<String>> {
    let names = archive.file_names().map(|name| name.map(Cow::into_owned));
    names.collect::<Result<_, ZipError>>().map_err(|e| unzippable(path, &e))
}

/// Like [`open_array`], for arrays whose first dimension counts rows.
pub(super) fn open_rows(path: &Path, name: &str, folder: &Path) -> Result<NpyArray> {
    let npy = open_array(path, Some(name), folder)?;
    if npy.transposed && npy.array.shape().len() > 1 {
        return Err(Error::input(path, "", "the array is in Fortran order")
            .with_hint("save numpy.ascontiguousarray(array) instead"));
    }
    Ok(npy)
}

fn choose<'a>(names: &'a [String], wanted: Option<&str>) -> Option<&'a str> {
    if let [only] = names {
        return Some(only);
    }
    let usual: &[&str] = wanted.as_ref().map_or(&USUAL_EDGES[..], std::slice::from_ref);
    usual.iter().find_map(|name| names.iter().find(|n| stem(n) == *name)).map(String::as_str)
}

fn stem(name: &str) -> &str {
    name.strip_suffix(".npy").unwrap_or(name)
}

fn unzippable(path: &Path, error: &ZipError) -> Error {
    Error::input(path, "", format!("is not a readable .npz file: {error}"))
}

/// The two columns of an array of edges, `(2, E)` or `(E, 2)`.
pub(super) struct EndArrays {
    array: ArrayRef,
    edges: u64,
    /// Whether source and destination alternate; otherwise all sources come first.
    by_turns: bool,
}

impl EndArrays {
    /// Recognises the layout of an array.
    pub(super) fn of(npy: &NpyArray) -> Result<Self> {
        let array = &npy.array;
        if !array.dtype().is_integer() {
            return Err(array.fail(format!("holds {}, but node ids are integers", array.dtype())));
        }
        let (&[rows, columns], true) = (array.shape(), array.shape().contains(&2)) else {
            let mut shape = array.shape().to_vec();
            if npy.transposed {
                shape.reverse();
            }
            return Err(array.fail(format!(
                "has shape {shape:?}, but edges are an array of shape (2, E) or (E, 2)"
            )));
        };
        // An array of shape (2, 2) is read as a row of sources and one of destinations.
        let by_turns = columns == 2 && (rows != 2 || npy.transposed);
        let edges = if by_turns { rows } else { columns };
        Ok(EndArrays { array: array.flat(), edges, by_turns })
    }

    /// Number of edges.
    pub(super) fn len(&self) -> u64 {
        self.edges
    }

    /// Fills `src` and `dst` with the edges from `first` on.
    pub(super) fn read(&self, first: u64, src: &mut [u64], dst: &mut [u64]) -> Result<()> {
        let count = src.len() as u64;
        if !self.by_turns {
            self.array.read_u64(first..first + count, src)?;
            let second = self.edges + first;
            return self.array.read_u64(second..second + count, dst);
        }
        let mut pairs = vec![0; 2 * src.len()];
        self.array.read_u64(2 * first..2 * (first + count), &mut pairs)?;
        for ((pair, src), dst) in pairs.as_chunks::<2>().0.iter().zip(src).zip(dst) {
            [*src, *dst] = *pair;
        }
        Ok(())
    }
}

//! This process's mappings, as `/proc/self/maps` lists them.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use sar::{Error, Result};

/// A private mapping that can be read and written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) range: Range<usize>,
    /// Offset in its file.
    pub(super) offset: u64,
    pub(super) kind: Kind,
    /// Whether the C library's heap lies in it.
    pub(super) heap: bool,
}

/// Content of a mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// Memory of its own.
    Anonymous,
    /// A backing file of ours, by its number.
    Backed(u64),
}

impl Mapping {
    pub(super) fn len(&self) -> usize {
        self.range.len()
    }
}

/// The private, writable mappings that may be put to sleep: anonymous ones and those of backing files in `folder`.
pub(super) fn mappings(folder: &Path) -> Result<Vec<Mapping>> {
    let path = Path::new("/proc/self/maps");
    let text = fs::read_to_string(path).map_err(|e| Error::io("read", path, e))?;
    let prefix = format!("{}/", folder.display());
    Ok(text.lines().filter_map(|line| parse(line, &prefix)).collect())
}

/// The shared mappings of arrays in a folder, which all ranks read and which are files already: ranges, and paths of the files.
pub(super) fn shared_arrays(folder: &Path) -> Result<Vec<(Range<usize>, PathBuf)>> {
    let path = Path::new("/proc/self/maps");
    let text = fs::read_to_string(path).map_err(|e| Error::io("read", path, e))?;
    let shared = text.lines().filter_map(|line| {
        let mut words = line.splitn(6, ' ');
        let (begin, end) = words.next()?.split_once('-')?;
        let is_shared = words.next()?.ends_with('s');
        let name = Path::new(words.nth(3)?.trim());
        let is_array = name.starts_with(folder) && name.extension()? == "npy";
        let address = |text| usize::from_str_radix(text, 16).ok();
        (is_shared && is_array).then_some((address(begin)?..address(end)?, name.to_owned()))
    });
    Ok(shared.collect())
}

fn parse(line: &str, prefix: &str) -> Option<Mapping> {
    let (range, rest) = line.split_once(' ')?;
    let (begin, end) = range.split_once('-')?;
    let (access, rest) = rest.split_once(' ')?;
    let (offset, rest) = rest.split_once(' ')?;
    if access != "rw-p" {
        return None;
    }
    let address = |text| usize::from_str_radix(text, 16).ok();
    let mut rest = rest.splitn(3, ' ');
    let (_device, inode, name) = (rest.next()?, rest.next()?, rest.next().unwrap_or("").trim());
    let kind = match name.strip_prefix(prefix) {
        Some(number) => Kind::Backed(number.parse().ok()?),
        None if inode == "0"
            && (name.is_empty() || name == "[heap]" || name.starts_with("[anon:")) =>
        {
            Kind::Anonymous
        }
        None => return None,
    };
    let offset = u64::from_str_radix(offset, 16).ok()?;
    Some(Mapping { range: address(begin)?..address(end)?, offset, kind, heap: name == "[heap]" })
}

/// A range cut where memory from before the fork begins and ends; with each part, whether it is such memory.
pub(super) fn split(range: &Range<usize>, inherited: &[Range<usize>]) -> Vec<(Range<usize>, bool)> {
    let mut parts = Vec::new();
    let mut at = range.start;
    for old in inherited.iter().filter(|old| old.start < range.end && range.start < old.end) {
        if at < old.start {
            parts.push((at..old.start, false));
        }
        parts.push((at.max(old.start)..old.end.min(range.end), true));
        at = old.end;
    }
    if at < range.end {
        parts.push((at..range.end, false));
    }
    parts
}

/// A range in pieces of at most `size` bytes.
pub(super) fn cut(range: &Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range.clone().step_by(size.max(1)).map(move |start| start..end.min(start + size))
}

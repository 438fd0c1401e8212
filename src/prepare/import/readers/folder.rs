//! Folders of Parquet files, as Spark and Dask write them: one table, with a column per `name=value` in paths.

use std::path::{Path, PathBuf};

use super::block::{CellBlock, Cells};
use super::formats;
use super::input::Input;
use super::look::{Ask, Column, Form, Opened, Reader};
use crate::words::error::{Error, Result};

/// Maximum depth of nested folders.
const MAX_DEPTH: usize = 8;

/// Value in paths that Spark writes for a missing one.
const MISSING: &str = "__HIVE_DEFAULT_PARTITION__";

/// Opens a folder as one table. The first file determines the columns and their order; all files determine their types.
pub(crate) fn open(folder: &Path, ask: &Ask<'_>) -> Result<Opened> {
    let mut parts = Vec::new();
    collect(folder, &[], MAX_DEPTH, &mut parts)?;
    let Some((first, others)) = parts.split_first() else {
        let problem = "is a folder without files that end with .parquet";
        return Err(Error::input(folder, "", problem).with_hint("name the files one by one"));
    };
    let mut columns = first.open(ask)?.columns;
    let own = columns.len();
    for part in others {
        let found = part.open(ask)?.columns;
        for column in &mut columns {
            let other = found.iter().find(|other| other.name == column.name);
            *column = other.and_then(|other| column.with(other)).ok_or_else(|| {
                let problem = format!("has no column {} as the files before have it", column.name);
                Error::input(&part.path, "", problem)
                    .with_hint("write all files with the same columns, of the same types")
            })?;
        }
    }
    columns.extend(first.values.iter().map(|(name, _)| Column::new(name, Form::Text)));
    let reader =
        FolderReader { columns: columns.clone(), own, parts, next: 0, current: None, done: 0 };
    let kind = format!("a folder of {} Parquet files", reader.parts.len());
    Ok(Opened::new(columns, &kind, Box::new(reader)))
}

/// A file of a folder.
struct Part {
    path: PathBuf,
    /// Names and values of its path.
    values: Vec<(String, String)>,
}

impl Part {
    fn open(&self, ask: &Ask<'_>) -> Result<Opened> {
        formats::open(&Input::open(&self.path)?, ask)
    }
}

/// A file's name, in a form that sorts numbers in it by value: `part.2` before `part.10`.
fn by_numbers(path: &Path) -> Vec<(usize, Vec<u8>)> {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let runs = name.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit());
    let run = |run: &[u8]| {
        if !run[0].is_ascii_digit() {
            return (0, run.to_vec());
        }
        let zeros = run.iter().take_while(|byte| **byte == b'0').count();
        (1 + run.len() - zeros, run[zeros..].to_vec())
    };
    runs.map(run).collect()
}

/// A name or value in a path, in which `%3A` stands for a colon.
fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let digits = part.get(..2).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => bytes.extend([&[byte], &part.as_bytes()[2..]].concat()),
            None => bytes.extend([b"%", part.as_bytes()].concat()),
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// The Parquet files below a folder, by path.
fn collect(
    folder: &Path,
    values: &[(String, String)],
    depth: usize,
    parts: &mut Vec<Part>,
) -> Result<()> {
    let entries = std::fs::read_dir(folder).map_err(|e| Error::unreadable(folder, &e))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths: Vec<PathBuf> =
        paths.collect::<std::io::Result<_>>().map_err(|e| Error::unreadable(folder, &e))?;
    paths.sort_by_cached_key(|path| (by_numbers(path), path.clone()));
    for path in paths {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() && depth > 0 {
            let pair = name.split_once('=').map(|(name, value)| {
                let value = if value == MISSING { "" } else { value };
                (decoded(name), decoded(value))
            });
            let values: Vec<_> = values.iter().cloned().chain(pair).collect();
            collect(&path, &values, depth - 1, parts)?;
        } else if path.extension().is_some_and(|end| end == "parquet")
            && !name.starts_with(['_', '.'])
        {
            parts.push(Part { values: values.to_vec(), path });
        }
    }
    Ok(())
}

struct FolderReader {
    /// The columns of the files, and those of their paths.
    columns: Vec<Column>,
    own: usize,
    parts: Vec<Part>,
    next: usize,
    current: Option<Current>,
    /// Bytes of the files before the current one.
    done: u64,
}

/// The file that is read.
struct Current {
    reader: Box<dyn Reader>,
    /// The place of each column in the file.
    places: Vec<usize>,
}

impl FolderReader {
    /// Opens the next file, whose columns may be in another order.
    fn advance(&mut self) -> Result<()> {
        let part = &self.parts[self.next];
        let ask = Ask::new(super::look::Wants::Table, Path::new(""));
        let opened = part.open(&Ask { columns: &self.columns, ..ask })?;
        let place = |column: &Column| {
            let found = opened.columns.iter().position(|other| other.name == column.name);
            found
                .ok_or_else(|| Error::input(&part.path, &column.name, "has gone while it was read"))
        };
        let places = self.columns[..self.own].iter().map(place).collect::<Result<_>>()?;
        let names = |values: &[(String, String)]| {
            values.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        let (own, due) = (names(&part.values), names(&self.parts[0].values));
        if own != due {
            let problem =
                format!("its path has the columns {own:?}, but earlier files have {due:?}");
            return Err(Error::input(&part.path, "", problem));
        }
        self.current = Some(Current { reader: opened.reader, places });
        Ok(())
    }
}

impl Reader for FolderReader {
    fn read(&mut self, columns: &[usize], block: &mut CellBlock) -> Result<()> {
        while self.next < self.parts.len() {
            if self.current.is_none() {
                self.advance()?;
            }
            let Some(current) = &mut self.current else { return Ok(()) };
            let own = columns.iter().filter(|at| **at < self.own);
            let own: Vec<usize> = own.map(|at| current.places[*at]).collect();
            current.reader.read(&own, block)?;
            if block.rows > 0 {
                let mut read = std::mem::take(&mut block.columns).into_iter();
                for at in columns {
                    let cells = if *at < self.own {
                        read.next()
                    } else {
                        let value = self.parts[self.next].values[*at - self.own].1.as_bytes();
                        let span = block.add_text(value);
                        Some(Cells::Text(vec![span; block.rows]))
                    };
                    block.columns.extend(cells);
                }
                return Ok(());
            }
            self.done += current.reader.bytes_read();
            (self.current, self.next) = (None, self.next + 1);
        }
        Ok(())
    }

    fn bytes_read(&self) -> u64 {
        self.done + self.current.as_ref().map_or(0, |current| current.reader.bytes_read())
    }
}

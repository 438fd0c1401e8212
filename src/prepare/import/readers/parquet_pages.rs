//! Checks of the sizes that a Parquet file's pages claim, before the Parquet library allocates memory for them.
//!
//! The library takes a page's decompressed size, and a dictionary's number of values, from the page's header, and
//! allocates that much before it reads the page: up to 2 GiB for a file of a few hundred bytes.

use std::sync::Arc;

use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use crate::formats::dgl::file::InputFile;
use crate::formats::dgl::header::HeaderReader;
use crate::words::error::Result;

/// Decompressed size in bytes up to which pages are accepted whatever their size in the file. The usual size is 1 MiB.
const USUAL: u64 = 16 << 20;

/// Largest ratio of decompressed to stored size of larger pages.
const RATIO: u64 = 256;

/// Largest nesting depth of structures; a page's header has three levels.
const MAX_DEPTH: u32 = 16;

/// Value types of Thrift's compact protocol.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;

/// The content of a page's header.
#[derive(Default)]
struct Page {
    decompressed: i64,
    compressed: i64,
    dictionary_values: i64,
    values: i64,
}

/// Checks the header of every page.
pub(super) fn check_pages(file: &Arc<InputFile>, metadata: &ParquetMetaData) -> Result<()> {
    for column in metadata.row_groups().iter().flat_map(RowGroupMetaData::columns) {
        let name = column.column_descr().name();
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        let place = u64::try_from(start).ok().zip(u64::try_from(column.compressed_size()).ok());
        let end = place.and_then(|(start, len)| start.checked_add(len));
        let Some(((start, _), end)) = place.zip(end.filter(|end| *end <= file.len())) else {
            return Err(file.fail(name, "lies outside the file"));
        };
        let mut reader = HeaderReader::within(file, start..end);
        reader.enter(name);
        let mut values = 0i64;
        while reader.remaining() > 0 {
            let page = read_page_header(&mut reader)?;
            let compressed = u64::try_from(page.compressed).unwrap_or(u64::MAX);
            let limit = USUAL.saturating_add(compressed.saturating_mul(RATIO));
            // Each dictionary value has at least one byte.
            let claimed = page.decompressed.max(page.dictionary_values);
            if page.decompressed < 0
                || claimed as u64 > limit
                || page.dictionary_values > page.decompressed
            {
                let problem = format!(
                    "a page of {} bytes claims {} bytes and {} dictionary values once it is decompressed",
                    page.compressed, page.decompressed, page.dictionary_values
                );
                return Err(reader.fail(problem));
            }
            reader.skip(compressed)?;
            values = values.saturating_add(page.values.max(0));
        }
        // A run of one value takes no room in the file, so its length needs another confirmation.
        if values > column.num_values() {
            let problem =
                format!("has {values} values, but the footer says {}", column.num_values());
            return Err(reader.fail(problem));
        }
    }
    Ok(())
}

/// Reads a header, and nothing behind it.
fn read_page_header(reader: &mut HeaderReader<'_>) -> Result<Page> {
    let mut page = Page::default();
    let mut id = 0;
    while let Some(kind) = next_field(reader, &mut id)? {
        match (id, kind) {
            (2, I32) => page.decompressed = integer(reader)?,
            (3, I32) => page.compressed = integer(reader)?,
            (7, STRUCT) => page.dictionary_values = first_integer(reader)?,
            (5 | 8, STRUCT) => page.values = first_integer(reader)?,
            _ => skip(reader, kind, MAX_DEPTH)?,
        }
    }
    Ok(page)
}

/// Reads a structure's first field, and skips the rest.
fn first_integer(reader: &mut HeaderReader<'_>) -> Result<i64> {
    let (mut first, mut id) = (0, 0);
    while let Some(kind) = next_field(reader, &mut id)? {
        match (id, kind) {
            (1, I32) => first = integer(reader)?,
            _ => skip(reader, kind, MAX_DEPTH)?,
        }
    }
    Ok(first)
}

/// The type of the next field, whose number goes to `id`; `None` at the structure's end.
fn next_field(reader: &mut HeaderReader<'_>, id: &mut i64) -> Result<Option<u8>> {
    let head = reader.u8()?;
    if head == 0 {
        return Ok(None);
    }
    *id = match head >> 4 {
        0 => integer(reader)?,
        step => id.saturating_add(i64::from(step)),
    };
    Ok(Some(head & 0xf))
}

/// Skips a value.
fn skip(reader: &mut HeaderReader<'_>, kind: u8, depth: u32) -> Result<()> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(reader.fail("the header of a page is nested too deeply"));
    };
    match kind {
        TRUE | FALSE => Ok(()),
        BYTE => reader.skip(1),
        I16 | I32 | I64 => varint(reader).map(drop),
        DOUBLE => reader.skip(8),
        BINARY => {
            let len = varint(reader)?;
            reader.skip(len)
        }
        LIST | SET => {
            let head = reader.u8()?;
            let len = match head >> 4 {
                15 => varint(reader)?,
                len => u64::from(len),
            };
            (0..len).try_for_each(|_| skip_element(reader, head & 0xf, depth))
        }
        MAP => {
            let len = varint(reader)?;
            let kinds = if len > 0 { reader.u8()? } else { 0 };
            (0..len).try_for_each(|_| {
                skip_element(reader, kinds >> 4, depth)?;
                skip_element(reader, kinds & 0xf, depth)
            })
        }
        STRUCT => {
            let mut id = 0;
            while let Some(kind) = next_field(reader, &mut id)? {
                skip(reader, kind, depth)?;
            }
            Ok(())
        }
        _ => Err(reader.fail("the header of a page is damaged")),
    }
}

/// Skips an element of a list, in which a truth value takes a byte.
fn skip_element(reader: &mut HeaderReader<'_>, kind: u8, depth: u32) -> Result<()> {
    match kind {
        TRUE | FALSE => reader.skip(1),
        _ => skip(reader, kind, depth),
    }
}

fn integer(reader: &mut HeaderReader<'_>) -> Result<i64> {
    let value = varint(reader)?;
    Ok((value >> 1) as i64 ^ -((value & 1) as i64))
}

fn varint(reader: &mut HeaderReader<'_>) -> Result<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = reader.u8()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(reader.fail("the header of a page is damaged"))
}

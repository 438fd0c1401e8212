//! Opening tables of any format.

use std::borrow::Cow;
use std::path::Path;

use super::format::Format;
use super::id_space::LIST;
use super::numbers::NumberTable;
use super::numpy::open_rows;
use super::parquet::read_parquet;
use super::records::Records;
use super::text::shown;
use crate::error::{Error, Result};
use crate::formats::dgl::ArrayRef;

const STRINGS: &str =
    "a table with strings, or with a column of ids, is read with ‹node_table=FILE› and ‹id=COLUMN›";

/// Opens the array in a file; `name` selects one of an archive. Files of other formats than numpy's are converted to unnamed
/// files in `folder`.
pub(super) fn open_array(path: &Path, name: &str, folder: &Path) -> Result<ArrayRef> {
    let array = match Format::of(path)? {
        Format::Npy | Format::Npz => open_rows(path, name, folder)?.array,
        Format::Parquet => read_parquet(path, folder)?,
        Format::Text | Format::MetisGraph => read_text(path, name, folder)?,
    };
    if array.shape().is_empty() {
        return Err(Error::input(path, "", "holds a single number, not a row per node or edge"));
    }
    Ok(array)
}

/// Reads rows of numbers. A first line without any number is a header.
fn read_text(path: &Path, name: &str, folder: &Path) -> Result<ArrayRef> {
    let mut records = Records::open(path)?;
    let mut table: Option<(NumberTable, usize)> = None;
    let mut headers = 0;
    while records.advance()? {
        if table.is_none() {
            let numeric = |field: Cow<'_, [u8]>| {
                std::str::from_utf8(&field).is_ok_and(|text| text.parse::<f64>().is_ok())
            };
            if headers == 0 && !records.fields().any(numeric) {
                headers += 1;
                records.forget_separator();
                continue;
            }
            let columns = records.fields().count();
            table = Some((NumberTable::create(path, folder, columns as u64)?, columns));
        }
        let Some((table, columns)) = &mut table else { continue };
        let mut found = 0;
        for field in records.fields() {
            found += 1;
            if !table.push(&field)? {
                let problem = format!("column {found}: {} is not a number", shown(&field));
                let error = records.fail(problem);
                return Err(error.with_hint(if name.ends_with("mask") { LIST } else { STRINGS }));
            }
        }
        if found != *columns {
            return Err(
                records.fail(format!("has {found} columns, but the lines before have {columns}"))
            );
        }
    }
    match table {
        Some((table, ..)) => table.finish(),
        None => NumberTable::create(path, folder, 1)?.finish(),
    }
}

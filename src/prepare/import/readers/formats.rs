//! The list of file formats.

use super::format::Format;
use super::input::Input;
use super::look::{Ask, Opened};
use super::{adjacency_lists, json, matrix_market, metis, npy, npz, parquet, refused, text};
use crate::words::error::Result;

/// All formats, in the order in which they are tried. The last one accepts any file.
const FORMATS: [&Format; 8] = [
    &npy::FORMAT,
    &npz::FORMAT,
    &parquet::FORMAT,
    &matrix_market::FORMAT,
    &json::FORMAT,
    &metis::FORMAT,
    &adjacency_lists::FORMAT,
    &text::FORMAT,
];

/// Finds a file's format and opens it.
pub(crate) fn open(input: &Input, ask: &Ask<'_>) -> Result<Opened> {
    refused::check(input)?;
    let format = FORMATS.iter().find(|format| (format.has)(input)).unwrap_or(&&text::FORMAT);
    if let Some(packing) = input.packing.filter(|_| format.needs_places) {
        let problem = format!("is a {} file that is compressed by {}", format.name, packing.name);
        return Err(input.fail(problem).with_hint("decompress it first"));
    }
    (format.open)(input, ask)
}

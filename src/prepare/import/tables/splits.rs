//! Masks: made from lists of nodes, and checked for their values.

use super::encoding::split_of;
use super::table::Table;
use crate::formats::dgl::array_file::ArrayFile;
use crate::graph::Bitmap;
use crate::io::Dtype;
use crate::load::MASKS;
use crate::prepare::import::files::DataFile;
use crate::prepare::import::ids::{IdSpace, LIST};
use crate::prepare::import::readers::{Ask, FileRows, Form, nearest};
use crate::words::error::{Error, Result};

/// The mask name of a split: `train_mask` for `train`, `val_mask` for `valid` and `dev`.
pub(crate) fn mask_name(split: &str) -> String {
    let bare = split.strip_suffix("_mask").unwrap_or(split);
    split_of(bare.as_bytes()).map_or_else(|| format!("{bare}_mask"), |mask| MASKS[mask].to_owned())
}

/// A note on a split whose mask training does not read.
pub(crate) fn other_mask(split: &str) -> Option<String> {
    let mask = mask_name(split);
    if MASKS.contains(&mask.as_str()) {
        return None;
    }
    let known = MASKS.iter().filter_map(|mask| mask.strip_suffix("_mask"));
    let near = nearest(split, known).map(|near| format!("; did you mean {near}?"));
    Some(format!(
        "‹split={split}› makes {mask}, but training reads {}, unless its flags name others{}",
        MASKS.join(", "),
        near.unwrap_or_default()
    ))
}

/// Reads the nodes that files list, one per row, and makes a mask of them, `uint8`; notes describe it. Runs after all
/// edges have been read. A file that may be a mask is refused, unless its data set says that it `is_list`.
pub(crate) fn read_split(
    files: &[&DataFile<String>],
    mask: &str,
    is_list: bool,
    space: &mut IdSpace,
    ask: &Ask<'_>,
) -> Result<(Table, Vec<String>)> {
    let mut notes = Vec::new();
    let mut members = Bitmap::new(space.count());
    for DataFile { path, name, array, .. } in files {
        let (ids_are_names, array) = (space.is_named(), Some(array.as_deref().unwrap_or(name)));
        let mut rows = FileRows::open_list(path, &Ask { ids_are_names, array, ..*ask })?;
        if rows.columns().iter().any(|column| column.form == Form::Number(Dtype::Bool)) {
            return Err(
                Error::input(path, "", "holds truth values, not a list of nodes").with_hint(LIST)
            );
        }
        let mut count = 0;
        while rows.advance()? {
            count += 1;
            let id = space.id_of(rows.value(0), &|problem| rows.fail(problem))?;
            if members.contains(id) {
                let problem = format!("node {} is listed twice", rows.value(0).shown());
                return Err(rows.fail(problem).with_hint(LIST));
            }
            members.insert(id);
        }
        let nodes = if count == 1 { "node" } else { "nodes" };
        // With one or two nodes, a list may look like a mask.
        if !is_list && count == space.count() && count <= 2 && !space.is_named() {
            let problem =
                format!("may be a list of {count} {nodes}, or a mask with a row for each node");
            return Err(Error::input(path, "", problem).with_hint(LIST));
        }
        notes.push(rows.note(&format!("; {mask} has {count} {nodes}")));
    }
    let mut out = ArrayFile::create(ask.folder)?;
    for node in 0..space.count() {
        out.write(&[u8::from(members.contains(node))])?;
    }
    let path = files.first().map_or(ask.folder, |file| &file.path);
    let table = Table::new(vec![out.finish(path, Dtype::U8, vec![space.count()])?])?;
    Ok((table, notes))
}

/// Refuses a mask with negative values; returns a note if it holds numbers above 1, which count as 1.
pub(crate) fn check_mask(name: &str, table: &Table) -> Result<Option<String>> {
    if !name.ends_with("_mask") || !matches!(table.row_shape(), [] | [1]) {
        return Ok(None);
    }
    let mut large = None;
    table
        .each_i64(|row, value| {
            if value < 0 {
                let problem = format!("row {row} holds {value}, which is neither 0 nor 1");
                return Err(table.fail(problem).with_hint(LIST));
            }
            if value > 1 && large.is_none() {
                large = Some((row, value));
            }
            Ok(())
        })
        .map_err(|error| if error.hint().is_none() { error.with_hint(LIST) } else { error })?;
    Ok(large.map(|(row, value)| {
        format!(
            "{name} holds other numbers than 0 and 1, such as {value} in row {row}: all but 0 are in the mask; a list of nodes \
             is given as ‹split=NAME=FILE›"
        )
    }))
}

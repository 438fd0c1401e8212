//! Conversion of lists of nodes to masks.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::format::Format;
use super::id_space::IdSpace;
use super::numpy::open_rows;
use super::table::Table;
use super::text::{Lines, unquoted};
use crate::error::{Error, Result};
use crate::formats::dgl::ArrayRef;
use crate::formats::dgl::file::InputFile;
use crate::graph::Bitmap;
use crate::io::Dtype;

/// Number of ids read at a time.
const BLOCK: u64 = 1 << 16;

/// The name of the mask that a split becomes: `train_mask` for `train`, `val_mask` for `valid`.
pub(super) fn mask_name(split: &str) -> String {
    let split = if split == "valid" { "val" } else { split };
    let bare = split.strip_suffix("_mask").unwrap_or(split);
    format!("{bare}_mask")
}

/// Reads the nodes that files list, one per line or as an array of integers, and makes a mask of them, `uint8`. Runs after all
/// edges have been read.
pub(super) fn read_split(paths: &[&Path], space: &mut IdSpace, folder: &Path) -> Result<Table> {
    let mut members = Bitmap::new(space.count());
    for path in paths {
        match Format::of(path)? {
            Format::Npy | Format::Npz => read_array(path, space, folder, &mut members)?,
            _ => read_text(path, space, &mut members)?,
        }
    }
    let array = store(&members, space.count(), paths, folder);
    Table::new(vec![array?])
}

fn read_array(path: &Path, space: &mut IdSpace, folder: &Path, members: &mut Bitmap) -> Result<()> {
    let array = open_rows(path, "", folder)?.array;
    if !array.dtype().is_integer() || array.dtype() == Dtype::Bool || array.row_len() != 1 {
        let problem = format!("holds {} {:?}, not a list of nodes", array.dtype(), array.shape());
        return Err(
            Error::input(path, "", problem).with_hint("pass a mask as ‹node_data=train_mask=FILE›")
        );
    }
    let mut ids = Vec::new();
    for first in (0..array.num_rows()).step_by(BLOCK as usize) {
        let rows = first..array.num_rows().min(first + BLOCK);
        ids.resize((rows.end - rows.start) as usize, 0);
        array.read_u64(rows, &mut ids)?;
        for &id in &ids {
            let id = space.id_of_number(id)?;
            let fail = |problem| Error::input(path, "", problem);
            members.insert(id.map_err(|refusal| refusal.error(fail))?);
        }
    }
    Ok(())
}

fn read_text(path: &Path, space: &mut IdSpace, members: &mut Bitmap) -> Result<()> {
    let mut lines = Lines::open(path)?;
    while lines.advance()? {
        let id = space.id_of(&unquoted(lines.text()))?;
        members.insert(id.map_err(|refusal| refusal.error(|problem| lines.fail(problem)))?);
    }
    Ok(())
}

/// Writes a mask with a byte per node.
fn store(members: &Bitmap, count: u64, paths: &[&Path], folder: &Path) -> Result<ArrayRef> {
    let failed = |e| Error::io("write a temporary file in", folder, e);
    let file: File = tempfile::tempfile_in(folder).map_err(failed)?;
    let mut out = BufWriter::new(file);
    for node in 0..count {
        out.write_all(&[u8::from(members.contains(node))]).map_err(failed)?;
    }
    let file = out.into_inner().map_err(|e| failed(e.into_error()))?;
    let path = paths.first().copied().unwrap_or(folder);
    let file = InputFile::from_open(path, file)?;
    ArrayRef::new(&file, "", Dtype::U8, vec![count], 0)
        .ok_or_else(|| Error::internal("a mask is shorter than what was written".to_owned()))
}

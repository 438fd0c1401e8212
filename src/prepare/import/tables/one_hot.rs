//! Labels with a column per class.

use std::path::Path;

use super::table::Table;
use crate::formats::dgl::array_file::ArrayFile;
use crate::formats::dgl::blocks;
use crate::io::Dtype;
use crate::words::error::Result;

/// Class numbers of labels whose rows have a single 1 and otherwise 0; -1 for rows of zeros. `None` for other labels,
/// such as several classes per node.
pub(crate) fn class_numbers(table: &Table, folder: &Path) -> Result<Option<Table>> {
    let &[width @ (2..)] = table.row_shape() else { return Ok(None) };
    let mut values = Vec::new();
    let mut has_classes = false;
    let mut out = ArrayFile::create(folder)?;
    for rows in blocks::wide_ranges(table.num_rows(), width) {
        table.read_f64(rows, &mut values)?;
        for row in values.chunks_exact(width as usize) {
            let mut places = (0..).zip(row).filter(|(_, value)| **value != 0.0);
            let class: i64 = match (places.next(), places.next()) {
                (None, _) => -1,
                (Some((class, 1.0)), None) => class,
                _ => return Ok(None),
            };
            has_classes |= class >= 0;
            out.write(&class.to_le_bytes())?;
        }
    }
    if !has_classes {
        return Ok(None);
    }
    let array = out.finish(table.path(), Dtype::I64, vec![table.num_rows()])?;
    Ok(Some(Table::new(vec![array])?))
}

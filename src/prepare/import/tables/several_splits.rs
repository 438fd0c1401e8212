//! Masks of several splits: a row or a column per split.

use std::path::Path;

use super::table::Table;
use crate::formats::dgl::array_file::ArrayFile;
use crate::formats::dgl::blocks;
use crate::words::error::{Error, Result};

/// A number of nodes.
#[derive(Clone, Copy)]
pub(crate) enum NodeCount {
    Exactly(u64),
    /// The edges show this many.
    AtLeast(u64),
}

/// Whether a table has several values for each row and is called a mask.
pub(crate) fn has_several_splits(name: &str, table: &Table) -> bool {
    name.ends_with("_mask") && matches!(table.row_shape(), [width] if *width > 1)
}

/// The mask of one of the splits that a mask holds. The number of nodes decides whether they are rows or columns.
pub(crate) fn choose_split(
    name: &str,
    table: &Table,
    nodes: NodeCount,
    index: Option<u64>,
    folder: &Path,
) -> Result<Table> {
    let sides = [table.num_rows(), table.row_shape().iter().product()];
    let [rows, columns] = sides;
    let fits = sides.map(|side| match nodes {
        NodeCount::Exactly(count) => side == count,
        NodeCount::AtLeast(count) => side >= count,
    });
    let shape = format!("has shape ({rows}, {columns})");
    let splits = match fits {
        [true, false] => columns,
        [false, true] => rows,
        [true, true] => {
            let problem = format!("{shape}, so rows and columns may be splits");
            return Err(table.fail(problem).with_hint(if rows == columns {
                "save one split as a separate array"
            } else {
                "state the number of nodes: ‹num_nodes=N›"
            }));
        }
        [false, false] => {
            let (NodeCount::Exactly(count) | NodeCount::AtLeast(count)) = nodes;
            let problem = format!("{shape}, but there are {count} nodes");
            return Err(table.fail(problem).with_hint("one side of the array is for the nodes"));
        }
    };
    let choice = format!("choose one, from ‹split_index=0› to ‹split_index={}›", splits - 1);
    let Some(index) = index else {
        return Err(table.fail(format!("{name} holds {splits} splits")).with_hint(choice));
    };
    if index >= splits {
        let problem = format!("is {index}, but {name} holds {splits} splits");
        return Err(Error::config("split_index", problem).with_hint(choice));
    }
    if fits == [false, true] {
        return table.row(index);
    }
    let (row, size) = (table.row_bytes(), table.row_bytes() / splits as usize);
    let place = index as usize * size;
    let mut out = ArrayFile::create(folder)?;
    let mut bytes = Vec::new();
    for nodes in blocks::ranges(table.num_rows()) {
        bytes.resize((nodes.end - nodes.start) as usize * row, 0);
        table.read_rows(nodes, &mut bytes)?;
        for of_node in bytes.chunks_exact(row) {
            out.write(&of_node[place..place + size])?;
        }
    }
    let shape = vec![table.num_rows()];
    Table::new(vec![out.finish(table.path(), table.first().dtype(), shape)?])
}

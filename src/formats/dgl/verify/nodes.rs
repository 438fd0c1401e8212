//! Checks that types and owners of nodes agree with the partition book.

use crate::formats::dgl::array::ArrayRef;
use crate::formats::dgl::blocks;
use crate::formats::dgl::nodes::node_table::NodeTable;
use crate::formats::dgl::topology::Topology;
use crate::words::error::Result;

/// Ids and masks were checked when the partition was opened; this checks `_TYPE` and `part_id`.
pub(super) fn check(topology: &Topology) -> Result<()> {
    let (config, graph) = (topology.config(), topology.graph());
    let book = config.book();
    let table = topology.nodes()?;
    check_column(&table, graph.nodes.ty.as_ref(), |id| book.node_type(id))?;
    check_column(&table, graph.nodes.part.as_ref(), |id| book.part_of_node(id))
}

fn check_column(
    table: &NodeTable,
    column: Option<&ArrayRef>,
    due: impl Fn(u64) -> Option<usize>,
) -> Result<()> {
    let Some(column) = column else { return Ok(()) };
    let mut values = Vec::new();
    for rows in blocks::ranges(column.num_rows()) {
        blocks::read(column, rows.clone(), &mut values)?;
        for (&value, row) in values.iter().zip(rows) {
            let due = table.global(row).and_then(&due);
            if due != Some(value as usize) {
                let due = due.map_or("unknown".to_owned(), |due| due.to_string());
                return Err(
                    column.fail(format!("row {row} is {value}, but by the JSON file it is {due}"))
                );
            }
        }
    }
    Ok(())
}

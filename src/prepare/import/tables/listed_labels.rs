//! Labels of nodes that files list.

use super::arrays::open_array;
use super::table::Table;
use crate::error::Result;
use crate::formats::dgl::array_file::ArrayFile;
use crate::io::Dtype;
use crate::prepare::import::files::ListedLabels;
use crate::prepare::import::readers::Ask;

/// Label of a node in no list.
const UNLABELLED: i64 = -1;

/// The labels of all `count` nodes of a type, from lists of nodes with a label each. Takes 8 bytes of memory per node and per label of
/// a list.
///
/// # Errors
/// If a list and its labels differ in length, or nodes or labels are not whole numbers.
pub(crate) fn listed_labels(lists: &[&ListedLabels], count: u64, ask: &Ask<'_>) -> Result<Table> {
    let mut all = vec![UNLABELLED; count as usize];
    for ListedLabels { nodes, labels, .. } in lists {
        let open = |path| Table::new(vec![open_array(path, "nodes", ask)?.array]);
        let (nodes, labels) = (open(nodes)?, open(labels)?);
        if nodes.num_rows() != labels.num_rows() {
            let problem =
                format!("has {} labels for {} nodes", labels.num_rows(), nodes.num_rows());
            return Err(labels.fail(problem));
        }
        let mut found = Vec::new();
        labels.each_i64(|_, label| {
            found.push(label);
            Ok(())
        })?;
        nodes.each_i64(|row, id| {
            let place = usize::try_from(id).ok().and_then(|id| all.get_mut(id));
            let place = place.ok_or_else(|| {
                nodes.fail(format!("row {row} holds {id}, which is not one of {count} nodes"))
            })?;
            *place = found[row as usize];
            Ok(())
        })?;
    }
    let mut out = ArrayFile::create(ask.folder)?;
    for label in &all {
        out.write(&label.to_le_bytes())?;
    }
    let path = lists.first().map_or(ask.folder, |list| &list.labels);
    Table::new(vec![out.finish(path, Dtype::I64, vec![count])?])
}

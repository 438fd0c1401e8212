//! Labels of nodes that files list.

use super::arrays::open_array;
use super::table::Table;
use crate::error::Result;
use crate::formats::dgl::array_file::ArrayFile;
use crate::io::Dtype;
use crate::prepare::import::files::ListedLabels;
use crate::prepare::import::readers::Ask;

/// Number of labels read at a time.
const BLOCK: u64 = 1 << 16;

/// Label of a node in no list.
const UNLABELLED: i64 = -1;

/// The labels of all `count` nodes of a type, from lists of nodes with a label each. Takes 8 bytes of memory per label.
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
        for first in (0..nodes.num_rows()).step_by(BLOCK as usize) {
            let rows = first..nodes.num_rows().min(first + BLOCK);
            let mut ids = vec![0; (rows.end - rows.start) as usize];
            let mut found = ids.clone();
            nodes.read_i64(rows.clone(), &mut ids)?;
            labels.read_i64(rows.clone(), &mut found)?;
            for ((row, id), label) in rows.zip(ids).zip(found) {
                let place = usize::try_from(id).ok().and_then(|id| all.get_mut(id));
                let Some(place) = place else {
                    let problem =
                        format!("row {row} holds {id}, which is not one of {count} nodes");
                    return Err(nodes.fail(problem));
                };
                *place = label;
            }
        }
    }
    let mut out = ArrayFile::create(ask.folder)?;
    for label in &all {
        out.write(&label.to_le_bytes())?;
    }
    let path = lists.first().map_or(ask.folder, |list| &list.labels);
    Table::new(vec![out.finish(path, Dtype::I64, vec![count])?])
}

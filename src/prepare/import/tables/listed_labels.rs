//! Labels of nodes that files list.

use super::arrays::open_array;
use super::table::Table;
use crate::formats::dgl::array_file::ArrayFile;
use crate::io::Dtype;
use crate::prepare::import::files::ListedLabels;
use crate::prepare::import::readers::Ask;
use crate::words::error::{Error, Result};

/// Label of a node in no list.
const UNLABELLED: i64 = -1;

/// Hint for labels of other kinds.
const OTHERS: &str = "only class numbers of nodes are read from sets; store other labels as data of all nodes, a row for each, in an \
                      entry of feature_data with the domain node and the name label, and leave them out of the sets";

/// Hint for too many labels.
const MEMORY: &str =
    "allow more memory, or store the labels as data of all nodes, in an entry of feature_data";

/// The labels of all `count` nodes of a type, from lists of nodes with a label each. Takes 8 bytes of memory per node and per label of
/// a list.
pub(crate) fn listed_labels(
    lists: &[&ListedLabels],
    count: u64,
    memory: u64,
    ask: &Ask<'_>,
) -> Result<Table> {
    check_memory(count, memory)?;
    let mut all = vec![UNLABELLED; count as usize];
    for ListedLabels { nodes, labels, .. } in lists {
        let open = |path| Table::new(vec![open_array(path, "nodes", ask)?]);
        let (nodes, labels) = (open(nodes)?, open(labels)?);
        for (table, problem) in [
            (&nodes, "lists edges with labels, which are not read"),
            (&labels, "holds several labels for each node"),
        ] {
            if table.row_shape().iter().product::<u64>() != 1 {
                return Err(table.fail(problem).with_hint(OTHERS));
            }
        }
        if nodes.num_rows() != labels.num_rows() {
            let problem =
                format!("has {} labels for {} nodes", labels.num_rows(), nodes.num_rows());
            return Err(labels.fail(problem));
        }
        check_memory(count.saturating_add(labels.num_rows()), memory)?;
        let mut found = Vec::new();
        let read = labels.each_i64(|_, label| {
            found.push(label);
            Ok(())
        });
        read.map_err(|error| error.with_hint(OTHERS))?;
        nodes.each_i64(|row, id| {
            let place = usize::try_from(id).ok().and_then(|id| all.get_mut(id));
            let place = place.ok_or_else(|| {
                nodes.fail(format!("row {row} holds {id}, which is not one of {count} nodes"))
            })?;
            let label = found[row as usize];
            if *place != UNLABELLED && *place != label {
                let problem = format!("row {row}: node {id} has the labels {place} and {label}");
                return Err(nodes.fail(problem).with_hint("a node has one label in all sets"));
            }
            *place = label;
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

/// Returns an error if this number of nodes and labels is too large for the memory.
fn check_memory(count: u64, memory: u64) -> Result<()> {
    let bytes = count.saturating_mul(size_of::<i64>() as u64);
    if bytes <= memory {
        return Ok(());
    }
    let problem = format!("is {memory} bytes, but {count} labels of nodes and sets need {bytes}");
    Err(Error::config("memory", problem).with_hint(MEMORY))
}

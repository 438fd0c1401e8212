//! Order of the nodes before the graph was partitioned.

use crate::formats::dgl::config::PartitionConfig;
use crate::formats::dgl::{OriginalIds, Partition};
use crate::graph::Bitmap;
use crate::words::error::{Error, Result};

/// Checks that the partitions hold the original id of every node of these types.
///
/// # Errors
/// If an original id is missing or occurs twice.
pub fn check_original_order(config: &PartitionConfig, ntypes: &[usize]) -> Result<()> {
    let book = config.book();
    for ntype in ntypes {
        let mut seen = Bitmap::new(book.num_nodes_of_type(*ntype));
        for part in 0..book.num_parts() {
            let partition = Partition::open(config, part)?;
            let (held, ids) = read(&partition, *ntype)?;
            if let Some(row) = ids.into_iter().position(|id| !seen.insert(id)) {
                let problem =
                    format!("node {row} of partition {part} has the original id of another node");
                return Err(not_usable(held.fail(problem)));
            }
        }
    }
    Ok(())
}

/// Original id, within its type, of each inner node of a type. Takes 8 bytes per node.
///
/// # Errors
/// If the partition does not hold original ids, or holds one that is out of range.
pub fn original_ids(partition: &Partition, ntype: usize) -> Result<Vec<u64>> {
    Ok(read(partition, ntype)?.1)
}

fn read(partition: &Partition, ntype: usize) -> Result<(OriginalIds, Vec<u64>)> {
    let (book, part) = (partition.book(), partition.part());
    let name = &book.ntypes()[ntype];
    let held = partition.orig_node_ids(ntype)?.ok_or_else(|| {
        let problem = format!("no file holds the original ids of nodes of type {name}");
        Error::input(partition.node_features().path(), "", problem).with_hint(
            "name the file that holds them with ‹orig_ids=FILE›, or pass ‹order=partition›",
        )
    })?;
    let mut ids = vec![0; held.num_rows() as usize];
    held.read(0..held.num_rows(), &mut ids)?;
    let count = book.num_nodes_of_type(ntype);
    if let Some(row) = ids.iter().position(|id| *id >= count) {
        let problem = format!(
            "the original id of node {row} of partition {part} is {}, but there are {count} nodes of type {name}",
            ids[row]
        );
        return Err(not_usable(held.fail(problem)));
    }
    Ok((held, ids))
}

fn not_usable(error: Error) -> Error {
    error.with_hint(
        "original ids are the numbers from 0 on that nodes had before the graph was cut: name a file of them with \
         ‹orig_ids=FILE›, or pass ‹order=partition›",
    )
}

/// Original homogeneous id of each inner node: type-wise id plus the number of nodes of earlier types, as in
/// `dgl.to_homogeneous`. Takes 8 bytes per node.
///
/// # Errors
/// As for [`original_ids`].
pub fn original_places(partition: &Partition) -> Result<Vec<u64>> {
    let book = partition.book();
    let (mut places, mut first) = (Vec::new(), 0);
    for ntype in 0..book.ntypes().len() {
        places.extend(original_ids(partition, ntype)?.into_iter().map(|id| first + id));
        first += book.num_nodes_of_type(ntype);
    }
    Ok(places)
}

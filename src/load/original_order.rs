//! The order of nodes before the graph was partitioned.

use crate::error::{Error, Result};
use crate::formats::dgl::Partition;
use crate::formats::dgl::config::PartitionConfig;
use crate::graph::Bitmap;

/// Checks that the partitions hold the original id of every node of the graph.
///
/// # Errors
/// If an original id is missing or occurs twice.
pub fn check_original_order(config: &PartitionConfig) -> Result<()> {
    let book = config.book();
    let mut seen = Bitmap::new(book.num_nodes());
    for part in 0..book.num_parts() {
        let partition = Partition::open(config, part)?;
        for (row, place) in original_places(&partition)?.into_iter().enumerate() {
            if !seen.insert(place) {
                let files = &config.parts()[part];
                let path = files.orig_nids.as_ref().or(files.graph.as_ref());
                let problem = format!("inner node {row} has the original id of another node");
                return Err(Error::input(path.unwrap_or(&files.node_feats), "", problem)
                    .with_hint("partition the graph again, or pass ‹order=partition›"));
            }
        }
    }
    Ok(())
}

/// The original homogeneous id of each inner node of a partition. In a heterogeneous graph these are type-wise ids, with the
/// types one after the other as in `dgl.to_homogeneous`. Takes 8 bytes a node.
///
/// # Errors
/// If the partition does not hold original ids, or holds one that is out of range.
pub fn original_places(partition: &Partition) -> Result<Vec<u64>> {
    let (book, part) = (partition.book(), partition.part());
    let mut places = Vec::with_capacity(partition.num_inner_nodes() as usize);
    let mut first = 0;
    for ntype in 0..book.ntypes().len() {
        let ids = partition.orig_node_ids(ntype)?.ok_or_else(|| {
            let problem = "no file holds the original ids of nodes";
            Error::input(partition.node_features().path(), "", problem).with_hint(
                "pass ‹order=partition›, or partition the graph with `sar-single partition`",
            )
        })?;
        let start = places.len();
        places.resize(start + ids.num_rows() as usize, 0);
        ids.read(0..ids.num_rows(), &mut places[start..])?;
        let count = book.num_nodes_of_type(ntype);
        for (row, place) in places[start..].iter_mut().enumerate() {
            if *place >= count {
                let (path, ty) = (partition.node_features().path(), &book.ntypes()[ntype]);
                let problem = format!(
                    "the original id of node {row} of partition {part} is {place}, but there are {count} nodes of that type"
                );
                return Err(Error::input(&path.with_file_name("orig_nids.dgl"), ty, problem));
            }
            *place += first;
        }
        first += count;
    }
    Ok(places)
}

//! Reading of the parts of an opened file, a little of everything.

use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::{ArrayRef, Partition, PartitionSummary, verify};
use sar::load::{EdgeData, Shards, label_columns, load_labels, load_mask};
use sar::prepare::import::{RawGraph, import_partitions};
use sar::words::error::exit::BAD_INPUT;
use std::path::Path;

/// Number of elements read of each array, in one block.
const ELEMENTS: u64 = 1 << 12;

/// Parts that sound files may also lack: whole numbers, labels, masks.
fn may_fail<T>(result: sar::Result<T>) -> sar::Result<()> {
    match result {
        Err(error) if error.exit_code() == BAD_INPUT => Ok(()),
        other => other.map(drop),
    }
}

/// Reads some rows of an array as every type.
pub(crate) fn array(array: &ArrayRef) -> sar::Result<()> {
    let (width, size) = (array.row_len(), array.dtype().size());
    if width == 0 || width > ELEMENTS {
        return Ok(());
    }
    let rows = array.num_rows().min(ELEMENTS / width);
    let len = (rows * width) as usize;
    array.read_rows(0..rows, &mut vec![0; len * size])?;
    array.read_f32(0..rows, &mut vec![0.0; len])?;
    array.read_f64(0..rows, &mut vec![0.0; len])?;
    may_fail(array.read_i64(0..rows, &mut vec![0; len]))?;
    may_fail(array.read_u64(0..rows, &mut vec![0; len]))
}

/// Reads a partition directory as training, or as one of the commands, does.
pub(crate) fn directory(json: &Path, way: u64) -> sar::Result<()> {
    let config = PartitionConfig::open(json)?;
    match way % 8 {
        0 => verify(&config).into_iter().next().map_or(Ok(()), Err),
        1 => raw(&import_partitions(json, json.parent().unwrap(), 1 << 20, &mut |_, _| Ok(()))?),
        2 => (0..config.parts().len())
            .try_for_each(|part| PartitionSummary::open(&config, part).map(drop)),
        _ => (0..config.parts().len()).try_for_each(|part| partition(&config, part)),
    }
}

/// Reads one partition of a directory.
pub(crate) fn partition(config: &PartitionConfig, part: usize) -> sar::Result<()> {
    let partition = Partition::open(config, part)?;
    for set in [partition.node_features(), partition.edge_features()] {
        set.features().iter().try_for_each(|feature| array(feature.array()))?;
    }
    let (mut edges, mut block) = (partition.edges(16)?, Vec::new());
    while edges.next_block(&mut block)? {}
    partition.halo_nodes()?;
    for ty in 0..3 {
        partition.orig_node_ids(ty)?;
        partition.orig_edge_ids(ty)?;
    }
    let columns = EdgeData { weight: None, types: true, ids: true, within: None };
    Shards::load(&partition, columns)?;
    may_fail(label_columns(&partition, None))?;
    may_fail(load_labels(&partition, None))?;
    may_fail(load_mask(&partition, None, "train_mask"))
}

/// Reads edges and tables of an imported graph.
pub(crate) fn raw(graph: &RawGraph) -> sar::Result<()> {
    for (at, etype) in graph.etypes.iter().enumerate() {
        graph.edges.read(at, |_, _| Ok(()))?;
        assert_eq!(etype.ends.len(), 2);
    }
    let nodes = graph.ntypes.iter().flat_map(|ntype| &ntype.data);
    let edges = graph.etypes.iter().flat_map(|etype| &etype.data);
    for (_, table) in nodes.chain(edges) {
        let rows = table.num_rows().min(ELEMENTS / (table.row_bytes() as u64).max(1));
        table.read_rows(0..rows, &mut vec![0; rows as usize * table.row_bytes()])?;
        if table.row_shape().is_empty() {
            may_fail(table.read_i64(0..rows, &mut vec![0; rows as usize]))?;
        }
    }
    graph.table_bytes();
    graph.first_nodes();
    Ok(())
}

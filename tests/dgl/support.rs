//! Small tools for tests of partition directories.

pub(crate) use crate::common::copy_folder;
pub(crate) use sar::formats::dgl::InnerEdge;
use sar::formats::dgl::Partition;
use sar::formats::dgl::writer::{FeatureSpec, PartitionWriter};
use sar::graph::PartitionBook;
use sar::io::Dtype;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// All inner edges, read in blocks of `max`, in the order of the file.
pub(crate) fn inner_edges(partition: &Partition, max: usize) -> sar::Result<Vec<InnerEdge>> {
    let mut reader = partition.edges(max)?;
    let (mut block, mut edges) = (Vec::new(), Vec::new());
    while reader.next_block(&mut block)? {
        assert!(block.len() <= max, "a block of {} where {max} were asked for", block.len());
        edges.append(&mut block);
    }
    Ok(edges)
}

/// Writes a directory without halo: per partition its inner edges as local ends; node features hold their row numbers.
pub(crate) fn write_directory(
    folder: &Path,
    book: Arc<PartitionBook>,
    node_features: &[(usize, &str)],
    edges: &[&[(u64, u64)]],
) -> PathBuf {
    let writer = PartitionWriter::new(folder, "g", "test", 0, Arc::clone(&book));
    for (part, edges) in edges.iter().enumerate() {
        let mut graph = writer.graph(part, 0, 0).unwrap();
        let (src, dst): (Vec<u64>, Vec<u64>) = edges.iter().copied().unzip();
        graph.append_inner_edges(&src, &dst).unwrap();
        graph.finish().unwrap();
        let specs = node_features.iter().map(|&(ty, name)| FeatureSpec {
            ty,
            name: name.to_owned(),
            dtype: Dtype::I64,
            row_shape: vec![],
        });
        let specs: Vec<FeatureSpec> = specs.collect();
        let mut file = writer.node_features(part, &specs).unwrap();
        for (array, spec) in file.arrays().iter_mut().zip(&specs) {
            let range = book.node_type_range(part, spec.ty);
            array.append_i64(&(0..(range.end - range.start) as i64).collect::<Vec<_>>()).unwrap();
        }
        file.finish().unwrap();
        writer.edge_features(part, &[]).unwrap().finish().unwrap();
    }
    writer.finish().unwrap()
}

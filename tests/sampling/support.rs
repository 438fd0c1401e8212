//! A partitioned graph opened for sampling, with its own folders.

use std::path::Path;
use std::sync::Arc;

use sar::formats::dgl::config::PartitionConfig;
use sar::sampling::stores::{DistGraph, IndexConfig, SampleKey};
use tempfile::TempDir;

/// The graph, and the folder of its indexes.
pub(crate) struct Opened {
    pub(crate) graph: Arc<DistGraph>,
    _folder: TempDir,
}

pub(crate) fn open(json: &Path, keys: &IndexConfig) -> Opened {
    let folder = tempfile::tempdir().unwrap();
    let config = PartitionConfig::open(json).unwrap();
    let graph = Arc::new(DistGraph::create(&config, keys, folder.path()).unwrap());
    Opened { graph, _folder: folder }
}

pub(crate) fn key(batch: u32) -> SampleKey {
    SampleKey { seed: 7, epoch: 1, batch, layer: 0 }
}

/// A directory of one partition whose edge i is `edges[i]`, with an edge feature `p` if `probabilities` has values.
pub(crate) fn write_graph(folder: &Path, nodes: u64, edges: &[(u64, u64)], probabilities: &[f32]) {
    use sar::formats::dgl::writer::{FeatureSpec, PartitionWriter};
    use sar::graph::{CanonicalEtype, PartitionBook};
    use sar::io::Dtype;

    let etype = CanonicalEtype::new("_N", "_E", "_N");
    let counts = (vec![vec![nodes]], vec![vec![edges.len() as u64]]);
    let book = PartitionBook::new(vec!["_N".into()], vec![etype], &counts.0, &counts.1).unwrap();
    let writer = PartitionWriter::new(folder, "g", "test", 0, Arc::new(book));
    let mut graph = writer.graph(0, 0, 0).unwrap();
    let (src, dst): (Vec<u64>, Vec<u64>) = edges.iter().copied().unzip();
    graph.append_inner_edges(&src, &dst).unwrap();
    graph.finish().unwrap();
    writer.node_features(0, &[]).unwrap().finish().unwrap();
    let spec = FeatureSpec { ty: 0, name: "p".into(), dtype: Dtype::F32, row_shape: vec![] };
    let specs = if probabilities.is_empty() { vec![] } else { vec![spec] };
    let mut file = writer.edge_features(0, &specs).unwrap();
    if let Some(array) = file.arrays().first_mut() {
        array.append_f32(probabilities).unwrap();
    }
    file.finish().unwrap();
    writer.finish().unwrap();
}

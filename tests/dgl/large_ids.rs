//! Guards against: ids of nodes and edges that pass through 32 bits, signed or not. The first partition of the graph is only
//! announced: its files, which would take terabytes, are empty.

use std::fs::{self, File};
use std::sync::Arc;

use sar::formats::dgl::Partition;
use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::writer::PartitionWriter;
use sar::graph::{CanonicalEtype, PartitionBook};

use crate::support::{InnerEdge, inner_edges};

const NODES: u64 = 6_000_000_000;
const EDGES: u64 = 90_000_000_000;

#[test]
fn ids_beyond_32_bits_come_back() {
    let etype = CanonicalEtype::new("n", "r", "n");
    let counts = (vec![vec![NODES], vec![3]], vec![vec![EDGES], vec![4]]);
    let book = PartitionBook::new(vec!["n".to_owned()], vec![etype], &counts.0, &counts.1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let writer = PartitionWriter::new(folder.path(), "g", "random", 1, Arc::new(book));
    // Local ids: 0 to 2 are own nodes, the others these.
    let foreign = [(1 << 31) - 1, 1 << 31, (1 << 32) + 5];
    let mut graph = writer.graph(1, foreign.len() as u64, 1).unwrap();
    graph.append_halo_nodes(&foreign).unwrap();
    graph.append_inner_edges(&[3, 4, 5, 2], &[0, 0, 1, 1]).unwrap();
    graph.append_halo_edges(&[2], &[5], &[EDGES - 1]).unwrap();
    graph.finish().unwrap();
    writer.node_features(1, &[]).unwrap().finish().unwrap();
    writer.edge_features(1, &[]).unwrap().finish().unwrap();
    let first = folder.path().join("part0");
    fs::create_dir_all(&first).unwrap();
    for name in ["graph.dgl", "node_feat.dgl", "edge_feat.dgl"] {
        File::create(first.join(name)).unwrap();
    }
    let config = PartitionConfig::open(&writer.finish().unwrap()).unwrap();
    assert_eq!((config.book().num_nodes(), config.book().num_edges()), (NODES + 3, EDGES + 4));
    let partition = Partition::open(&config, 1).unwrap();
    let edge = |row: u64, src, dst| InnerEdge { src, dst, id: EDGES + row, etype: 0, row };
    let due = [
        edge(0, foreign[0], NODES),
        edge(1, foreign[1], NODES),
        edge(2, foreign[2], NODES + 1),
        edge(3, NODES + 2, NODES + 1),
    ];
    for block in [1, 4] {
        assert_eq!(inner_edges(&partition, block).unwrap(), due, "in blocks of {block}");
    }
}

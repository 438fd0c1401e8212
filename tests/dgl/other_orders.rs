//! Guards against: ends of edges assigned to the wrong nodes where inner nodes do not come first.

use crate::common::repository;
use crate::manifest::all_u64;
use crate::support::{copy_folder, inner_edges};
use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::graph_file::GraphFile;
use sar::formats::dgl::{ArrayRef, Partition, verify};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Rotates the local nodes of a partition by `by`: row `i` becomes row `i + by`.
fn rotate_nodes(path: &Path, by: u64) {
    let file = GraphFile::open(path).unwrap();
    let graph = &file.graphs()[0];
    let count = graph.num_nodes[0];
    for (_, column) in graph.node_frames[0].columns() {
        let mut values = all_u64(column);
        values.rotate_right(by as usize);
        overwrite(path, column, &values);
    }
    let coo = graph.relations[0].coo.as_ref().unwrap();
    for ends in [&coo.row, &coo.col] {
        let moved: Vec<u64> = all_u64(ends).iter().map(|end| (end + by) % count).collect();
        overwrite(path, ends, &moved);
    }
}

fn overwrite(path: &Path, array: &ArrayRef, values: &[u64]) {
    let size = array.dtype().size();
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()[..size].to_vec()).collect();
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&bytes, array.offset()).unwrap();
}

#[test]
fn inner_nodes_after_halo_nodes_give_the_same_partition() {
    let fixture = repository("tests/fixtures/hetero");
    let folder = tempfile::tempdir().unwrap();
    copy_folder(&fixture, folder.path());
    let sound = PartitionConfig::open(&fixture.join("g.json")).unwrap();
    let turned = PartitionConfig::open(&folder.path().join("g.json")).unwrap();
    for part in 0..2 {
        let due = Partition::open(&sound, part).unwrap();
        let path = folder.path().join(format!("part{part}/graph.dgl"));
        rotate_nodes(&path, due.num_halo_nodes());
        let found = Partition::open(&turned, part).unwrap();
        assert_eq!(inner_edges(&found, 7).unwrap(), inner_edges(&due, 7).unwrap());
        assert_eq!(found.halo_nodes().unwrap(), due.halo_nodes().unwrap());
    }
    assert!(verify(&turned).is_empty(), "{:?}", verify(&turned));
}

#[test]
fn inner_nodes_out_of_order_are_refused_because_features_could_not_be_assigned() {
    let folder = tempfile::tempdir().unwrap();
    copy_folder(&repository("tests/fixtures/hetero"), folder.path());
    rotate_nodes(&folder.path().join("part0/graph.dgl"), 1);
    let config = PartitionConfig::open(&folder.path().join("g.json")).unwrap();
    // One halo node moved to the front; the inner nodes still ascend.
    assert!(Partition::open(&config, 0).is_ok());
    let path = folder.path().join("part0/graph.dgl");
    let file = GraphFile::open(&path).unwrap();
    let ids = file.graphs()[0].node_frames[0].get("_ID").unwrap();
    let mut values = all_u64(ids);
    values.swap(1, 2);
    overwrite(&path, ids, &values);
    let error = Partition::open(&config, 0).unwrap_err();
    assert!(error.to_string().contains("inner node 1, but must be 0"), "{error}");
    assert!(error.hint().unwrap().contains("must ascend"), "{error:?}");
}

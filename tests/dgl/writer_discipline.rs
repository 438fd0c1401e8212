//! Guards against: half-written files under their final name, and files whose arrays do not match their headers.

use sar::formats::dgl::writer::{PartitionWriter, TensorSpec, TensorWriter};
use sar::graph::{CanonicalEtype, PartitionBook};
use sar::io::Dtype;
use std::fs;
use std::path::Path;
use std::sync::Arc;

fn specs() -> [TensorSpec; 1] {
    [TensorSpec { key: "_N/x".to_owned(), dtype: Dtype::F32, shape: vec![2, 2] }]
}

fn files(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn a_file_that_is_not_finished_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.dgl");
    let mut writer = TensorWriter::create(&path, &specs()).unwrap();
    writer.arrays()[0].append_f32(&[1.0]).unwrap();
    assert!(!path.exists(), "the file has its name before it is complete");
    drop(writer);
    assert_eq!(files(folder.path()), 0);
}

#[test]
fn missing_elements_are_noticed_at_the_end_and_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = TensorWriter::create(&folder.path().join("x.dgl"), &specs()).unwrap();
    writer.arrays()[0].append_f32(&[1.0, 2.0, 3.0]).unwrap();
    let error = writer.finish().unwrap_err();
    assert!(error.to_string().contains("1 elements are missing"), "{error}");
    assert_eq!(files(folder.path()), 0);
}

#[test]
fn elements_beyond_the_announced_ones_or_of_another_type_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = TensorWriter::create(&folder.path().join("x.dgl"), &specs()).unwrap();
    let array = &mut writer.arrays()[0];
    assert!(array.append_i64(&[1]).is_err());
    assert!(array.append_f32(&[0.0; 5]).is_err() || array.append_f32(&[0.0]).is_err());
}

#[test]
fn a_graph_writer_refuses_what_would_be_no_partition() {
    let folder = tempfile::tempdir().unwrap();
    let etypes = vec![CanonicalEtype::new("_N", "_E", "_N")];
    let counts = [vec![2], vec![1]];
    let book = PartitionBook::new(vec!["_N".to_owned()], etypes, &counts, &counts).unwrap();
    let writer = PartitionWriter::new(folder.path(), "g", "test", 1, Arc::new(book));
    let mut graph = writer.graph(0, 1, 1).unwrap();
    assert!(graph.append_halo_nodes(&[1]).is_err(), "an inner node as halo");
    assert!(graph.append_halo_nodes(&[3]).is_err(), "a node that is not there");
    graph.append_halo_nodes(&[2]).unwrap();
    assert!(graph.append_inner_edges(&[3], &[0]).is_err(), "a source that is not there");
    assert!(graph.append_inner_edges(&[0], &[2]).is_err(), "an inner edge into a halo node");
    assert!(graph.append_halo_edges(&[0], &[2], &[2]).is_err(), "a halo edge before inner ones");
    graph.append_inner_edges(&[2, 1], &[0, 1]).unwrap();
    assert!(graph.append_halo_edges(&[0], &[1], &[2]).is_err(), "a halo edge into an inner node");
    assert!(graph.append_halo_edges(&[0], &[2], &[1]).is_err(), "an inner edge's id");
    assert!(writer.graph(2, 0, 0).is_err(), "a partition that is not there");
    assert!(writer.finish().is_err(), "a directory without files");
}

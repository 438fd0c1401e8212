//! Guards against: an opaque error when a user gives the wrong file or folder.

use crate::common::repository;
use crate::support::copy_folder;
use sar::formats::dgl::Partition;
use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::fused_csc::FusedCsc;
use sar::formats::dgl::graph_file::GraphFile;
use sar::formats::dgl::npy::open_npy;
use sar::formats::dgl::tensor_file::TensorFile;
use std::fs;

fn assert_says(result: sar::Result<impl std::fmt::Debug>, words: &str) {
    let error = result.unwrap_err();
    assert!(error.to_string().contains(words), "{error} does not say {words:?}");
    assert_eq!(error.exit_code(), sar::words::error::exit::BAD_INPUT);
}

#[test]
fn another_kind_of_file_is_named() {
    let part = repository("tests/fixtures/graphbolt/part0");
    let (graph, tensors) = (part.join("graph.dgl"), part.join("node_feat.dgl"));
    let archive = part.join("fused_csc_sampling_graph.pt");
    let json = repository("tests/fixtures/graphbolt/g.json");
    assert_says(GraphFile::open(&tensors), "this is a DGL tensor file, not a DGL graph file");
    assert_says(TensorFile::open(&graph), "this is a DGL graph file, not a DGL tensor file");
    assert_says(TensorFile::open(&archive), "this is a PyTorch file, not a DGL tensor file");
    assert_says(GraphFile::open(&json), "this is not a DGL graph file");
    assert_says(FusedCsc::open(&graph), "this is a DGL graph file, not a PyTorch file");
    assert_says(FusedCsc::open(&json), "cannot be read as a PyTorch archive");
    assert_says(
        PartitionConfig::open(&graph),
        "this is a DGL graph file, not a partition's JSON file",
    );
    assert_says(open_npy(&graph), "this is not a numpy file");
}

#[test]
fn a_folder_is_not_taken_for_a_file() {
    let folder = repository("tests/fixtures/graphbolt");
    let error = PartitionConfig::open(&folder).unwrap_err();
    assert!(error.to_string().contains("is a folder"), "{error}");
    assert!(error.hint().unwrap().contains("JSON"), "{error:?}");
    assert_says(GraphFile::open(&folder), "is not a regular file");
}

#[test]
fn the_description_of_chunks_is_not_taken_for_that_of_partitions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("metadata.json");
    fs::write(&path, r#"{"graph_name": "g", "num_nodes_per_chunk": [[1]]}"#).unwrap();
    assert_says(PartitionConfig::open(&path), "chunks of a graph that is not partitioned yet");
}

#[test]
fn a_missing_file_is_named_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    copy_folder(&repository("tests/fixtures/hetero"), folder.path());
    fs::remove_file(folder.path().join("part1/node_feat.dgl")).unwrap();
    let config = PartitionConfig::open(&folder.path().join("g.json")).unwrap();
    assert!(Partition::open(&config, 0).is_ok());
    assert_says(Partition::open(&config, 1), "part1/node_feat.dgl: cannot be read");
    assert_says(Partition::open(&config, 2), "there is no partition 2; the graph has 2");
}

#[test]
fn an_archive_that_names_other_code_is_refused() {
    let path = repository("tests/fixtures/graphbolt/part0/fused_csc_sampling_graph.pt");
    let mut bytes = fs::read(path).unwrap();
    let name = b"torch._utils\n_rebuild_tensor_v2";
    let at = bytes.windows(name.len()).position(|window| window == name).unwrap();
    bytes[at..at + name.len()].copy_from_slice(b"posixxxxxxxx\nsystemmmmmmmmmmmmm");
    let folder = tempfile::tempdir().unwrap();
    let changed = folder.path().join("changed.pt");
    fs::write(&changed, &bytes).unwrap();
    // The checksum of the pickle is met first.
    assert_says(FusedCsc::open(&changed), "cannot be read as a PyTorch archive");
    let (start, end) = pickle_range(&bytes);
    let sum = crc32fast::hash(&bytes[start..end]).to_le_bytes();
    let old = crc32fast::hash(
        &fs::read(repository("tests/fixtures/graphbolt/part0/fused_csc_sampling_graph.pt"))
            .unwrap()[start..end],
    )
    .to_le_bytes();
    while let Some(at) = bytes.windows(4).position(|window| window == old) {
        bytes[at..at + 4].copy_from_slice(&sum);
    }
    fs::write(&changed, &bytes).unwrap();
    assert_says(FusedCsc::open(&changed), "names posixxxxxxxx.systemmmmmmmmmmmmm");
}

/// Range of the pickle, which is the archive's first member.
fn pickle_range(archive: &[u8]) -> (usize, usize) {
    let u16_at = |at: usize| usize::from(u16::from_le_bytes([archive[at], archive[at + 1]]));
    let start = 30 + u16_at(26) + u16_at(28);
    let len = archive[start..].windows(4).position(|window| window == b"PK\x07\x08").unwrap();
    (start, start + len)
}

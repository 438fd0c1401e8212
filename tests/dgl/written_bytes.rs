//! Guards against: written files that differ from DGL's in a single byte, and so might not load there.

use crate::common::repository;
use crate::manifest::{Manifest, all_u64};
use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::graph_file::GraphFile;
use sar::formats::dgl::tensor_file::TensorFile;
use sar::formats::dgl::writer::{FeatureSpec, PartitionWriter, TensorSpec, TensorWriter};
use sar::formats::dgl::{ArrayRef, Feature, FeatureSet, Partition};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// The size of the unspecified part: bytes 32 to 4095 of DGL's graph files are what happened to be in memory.
const UNSPECIFIED: std::ops::Range<usize> = 32..4096;

/// All elements as they are stored.
fn bytes(array: &ArrayRef) -> Vec<u8> {
    let mut out = vec![0; array.byte_len() as usize];
    array.read_rows(0..array.num_rows(), &mut out).unwrap();
    out
}

#[test]
fn every_sample_tensor_file_is_written_again_byte_by_byte() {
    let Some(manifest) = Manifest::load() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut seen = 0;
    for (path, entry) in manifest.files(".dgl") {
        if entry.get("tensors").is_none() {
            continue;
        }
        let file = TensorFile::open(&path).unwrap();
        let specs = file.entries().iter().map(|(key, array)| {
            let (dtype, shape) = (array.dtype(), array.shape().to_vec());
            TensorSpec { key: key.clone(), dtype, shape }
        });
        let again = folder.path().join("again.dgl");
        let mut writer = TensorWriter::create(&again, &specs.collect::<Vec<_>>()).unwrap();
        for (target, (_, array)) in writer.arrays().iter_mut().zip(file.entries()) {
            // Three bytes at a time, to cross every boundary.
            bytes(array).chunks(3).for_each(|piece| target.append_bytes(piece).unwrap());
        }
        writer.finish().unwrap();
        assert_eq!(fs::read(&again).unwrap(), fs::read(&path).unwrap(), "{}", path.display());
        seen += 1;
    }
    assert!(seen > 150, "only {seen} tensor files were compared");
}

#[test]
fn committed_partitions_of_dgl_2_are_written_again_byte_by_byte() {
    for json in ["data/karate/karate.json", "tests/fixtures/hetero/g.json"] {
        assert_written_again(&repository(json));
    }
}

#[test]
fn sample_partitions_of_dgl_2_are_written_again_byte_by_byte() {
    let Some(manifest) = Manifest::load() else { return };
    let samples =
        ["homo3", "homo3_hop2", "homo1", "iso_ok", "onenode", "homo2_trainers", "het2", "het1"];
    for sample in samples {
        assert_written_again(&manifest.root.join("v2.1.0").join(sample).join("g.json"));
    }
}

fn assert_written_again(json: &Path) {
    let (source, target) = (json.parent().unwrap(), tempfile::tempdir().unwrap());
    let config = PartitionConfig::open(json).unwrap();
    write_again(&config, target.path());
    let mut files = vec![json.file_name().unwrap().to_str().unwrap().to_owned()];
    for part in 0..config.parts().len() {
        files.extend(["graph", "node_feat", "edge_feat"].map(|f| format!("part{part}/{f}.dgl")));
    }
    for file in files {
        let mut due = fs::read(source.join(&file)).unwrap();
        if file.ends_with("graph.dgl") {
            due[UNSPECIFIED].fill(0);
        }
        let written = fs::read(target.path().join(&file)).unwrap();
        assert!(written == due, "{}: {file} differs", source.display());
    }
}

/// Reads a directory and writes it again.
fn write_again(config: &PartitionConfig, target: &Path) {
    let book = Arc::clone(config.book());
    let (method, hops) = (config.part_method().unwrap(), config.halo_hops().unwrap());
    let writer = PartitionWriter::new(target, config.graph_name(), method, hops, book);
    for part in 0..config.parts().len() {
        let partition = Partition::open(config, part).unwrap();
        write_graph(&writer, config, &partition);
        let (specs, arrays) = features(partition.node_features());
        let mut file = writer.node_features(part, &specs).unwrap();
        for (target, array) in file.arrays().iter_mut().zip(arrays) {
            target.append_bytes(&bytes(array)).unwrap();
        }
        file.finish().unwrap();
        let (specs, arrays) = features(partition.edge_features());
        let mut file = writer.edge_features(part, &specs).unwrap();
        for (target, array) in file.arrays().iter_mut().zip(arrays) {
            target.append_bytes(&bytes(array)).unwrap();
        }
        file.finish().unwrap();
    }
    writer.finish().unwrap();
}

fn write_graph(writer: &PartitionWriter, config: &PartitionConfig, partition: &Partition) {
    let file = GraphFile::open(config.parts()[partition.part()].graph.as_ref().unwrap()).unwrap();
    let graph = &file.graphs()[0];
    let coo = graph.relations[0].coo.as_ref().unwrap();
    let (src, dst) = (all_u64(&coo.row), all_u64(&coo.col));
    let ids = all_u64(graph.edge_frames[0].get("_ID").unwrap());
    let halo = partition.halo_nodes().unwrap();
    let inner = partition.num_inner_edges() as usize;
    let halo_edges = partition.num_halo_edges();
    let mut target = writer.graph(partition.part(), halo.len() as u64, halo_edges).unwrap();
    // Nodes between edges: arrays may be filled in any interleaving.
    let (first, second) = (inner / 2, inner);
    target.append_inner_edges(&src[..first], &dst[..first]).unwrap();
    target.append_halo_nodes(&halo).unwrap();
    target.append_inner_edges(&src[first..second], &dst[first..second]).unwrap();
    target.append_halo_edges(&src[inner..], &dst[inner..], &ids[inner..]).unwrap();
    target.finish().unwrap();
}

fn features(set: &FeatureSet) -> (Vec<FeatureSpec>, Vec<&ArrayRef>) {
    let specs = set.features().iter().map(|feature| FeatureSpec {
        ty: feature.ty(),
        name: feature.name().to_owned(),
        dtype: feature.array().dtype(),
        row_shape: feature.array().row_shape().to_vec(),
    });
    (specs.collect(), set.features().iter().map(Feature::array).collect())
}

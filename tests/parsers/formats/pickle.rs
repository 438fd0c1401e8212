//! Pickles in the archives of GraphBolt's graphs, and the archives.

use crate::archive::{archive, members};
use crate::campaign::{Read, Seed, run};
use crate::consume::{array, partition};
use crate::folder::{copy, files, folder, partition_directories};
use crate::mutate::Syntax;
use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::fused_csc::FusedCsc;
use std::fs;
use std::path::Path;
use std::rc::Rc;
use zip::CompressionMethod;

const GRAPH: &str = "fused_csc_sampling_graph.pt";

#[test]
fn pickle() {
    let root = folder();
    let mut seeds = Vec::new();
    for (number, json) in partition_directories().iter().enumerate() {
        let origin = json.parent().unwrap();
        if files(origin).iter().any(|file| file.ends_with(GRAPH)) {
            let target = root.path().join(number.to_string());
            copy(origin, &target);
            seeds.extend(seeds_of(&target.join(json.file_name().unwrap())));
        }
    }
    run("pickle", &seeds);
}

/// Graphs of a directory, which has no other structure file from then on.
fn seeds_of(json: &Path) -> Vec<Seed> {
    let config = PartitionConfig::open(json).unwrap();
    let mut seeds = Vec::new();
    for part in 0..config.parts().len() {
        let folder = json.with_file_name(format!("part{part}"));
        let (path, config) = (folder.join(GRAPH), config.clone());
        fs::remove_file(folder.join("graph.dgl")).ok();
        let graph = path.clone();
        let read: Read =
            Rc::new(
                move |way| {
                    if way % 4 == 0 { partition(&config, part) } else { fused_csc(&graph, way) }
                },
            );
        let content = fs::read(&path).unwrap();
        let around = members(&content);
        let pickle = around.iter().position(|(name, _)| name.ends_with("/data.pkl")).unwrap();
        let inside = Seed::new(around[pickle].1.clone(), Syntax::BINARY, &path, Rc::clone(&read));
        let pack = move |pickle: &[u8]| {
            let members = around.iter().map(|(name, content)| {
                let content = if name.ends_with("/data.pkl") { pickle } else { content };
                (name.as_str(), content)
            });
            archive(members, CompressionMethod::Stored)
        };
        seeds.extend([
            inside.packed(Rc::new(pack)),
            Seed::new(content, Syntax::BINARY, &path, read),
        ]);
    }
    seeds
}

fn fused_csc(path: &Path, way: u64) -> sar::Result<()> {
    let graph = FusedCsc::open(path)?;
    array(&graph.indptr)?;
    array(&graph.indices)?;
    graph.node_attributes.values().chain(graph.edge_attributes.values()).try_for_each(array)?;
    if way % 8 == 1 { graph.verify_checksums() } else { Ok(()) }
}

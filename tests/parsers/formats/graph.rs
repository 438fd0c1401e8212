//! DGL's graph files and tensor files, alone and as parts of a partition directory.

use crate::campaign::{Read, Seed, run};
use crate::common::shared;
use crate::consume::{array, directory, partition};
use crate::folder::{copy, files, folder, partition_directories};
use crate::mutate::Syntax;
use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::graph_file::GraphFile;
use sar::formats::dgl::graph_record::Frame;
use sar::formats::dgl::tensor_file::TensorFile;
use std::fs;
use std::path::Path;
use std::rc::Rc;

/// The bytes that DGL writes between the header and the first graph are what happened to be in memory.
const UNUSED: Syntax = Syntax::Binary { unused: 32..4096 };

#[test]
fn graph_dgl() {
    let root = folder();
    let mut seeds = Vec::new();
    for (number, json) in partition_directories().iter().enumerate() {
        let target = root.path().join(number.to_string());
        copy(json.parent().unwrap(), &target);
        seeds.extend(of_directory(&target.join(json.file_name().unwrap())));
    }
    // Graphs and tensors that do not belong to a partition.
    for origin in shared("dgl-samples").iter().flat_map(|samples| files(samples)) {
        let name = origin.file_name().unwrap().to_str().unwrap().to_owned();
        if name.ends_with(".graph.dgl") || name.ends_with(".tensors.dgl") {
            let path = root.path().join(format!("alone-{}-{name}", seeds.len()));
            seeds.push(seed(&fs::read(origin).unwrap(), &path, Rc::new(|_| Ok(()))));
        }
    }
    run("graph_dgl", &seeds);
}

fn of_directory(json: &Path) -> Vec<Seed> {
    let config = PartitionConfig::open(json).unwrap();
    let mut seeds = Vec::new();
    for part in 0..config.parts().len() {
        for path in files(&json.with_file_name(format!("part{part}"))) {
            if path.extension().is_some_and(|extension| extension == "dgl") {
                let (config, json) = (config.clone(), json.to_owned());
                let in_directory: Read = Rc::new(move |way| match way % 32 {
                    0..=3 => directory(&json, way),
                    _ => partition(&config, part),
                });
                seeds.push(seed(&fs::read(&path).unwrap(), &path, in_directory));
            }
        }
    }
    seeds
}

/// A file that is read alone in half of all cases.
fn seed(content: &[u8], path: &Path, in_directory: Read) -> Seed {
    let is_graph = path.to_str().unwrap().ends_with("graph.dgl");
    let file = path.to_owned();
    let read: Read = Rc::new(move |way| match (way % 2, is_graph) {
        (0, _) => in_directory(way / 2),
        (_, true) => graph_file(&file),
        _ => TensorFile::open(&file)?.entries().iter().try_for_each(|(_, found)| array(found)),
    });
    Seed::new(content.to_owned(), if is_graph { UNUSED } else { Syntax::BINARY }, path, read)
}

fn graph_file(path: &Path) -> sar::Result<()> {
    let file = GraphFile::open(path)?;
    file.labels().iter().try_for_each(|(_, label)| array(label))?;
    for graph in file.graphs() {
        let frames = graph.node_frames.iter().chain(&graph.edge_frames);
        frames.flat_map(Frame::columns).try_for_each(|(_, column)| array(column))?;
        for relation in &graph.relations {
            let coo = relation.coo.iter().flat_map(|coo| [&coo.row, &coo.col]);
            let compressed = relation.csr.iter().chain(&relation.csc);
            let compressed = compressed.flat_map(|csr| [&csr.indptr, &csr.indices]);
            coo.chain(compressed).try_for_each(array)?;
        }
    }
    Ok(())
}

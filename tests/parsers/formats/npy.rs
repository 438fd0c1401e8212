//! numpy's arrays and archives: edges, tables, lists of nodes, maps of original ids.

use crate::archive::archive;
use crate::campaign::{Pack, Read, Seed, run};
use crate::consume::{array, directory, raw};
use crate::folder::{copy, folder, partition_directories};
use crate::mutate::Syntax;
use sar::formats::dgl::npy::open_npy;
use sar::io::{Dtype, npy_header};
use sar::prepare::import::{DataFile, EdgeFile, GraphFiles, import};
use std::fs;
use std::path::Path;
use std::rc::Rc;
use zip::CompressionMethod;

const NODES: u64 = 6;

#[test]
fn npy() {
    let root = folder();
    let mut seeds = imported(root.path());
    for (number, json) in partition_directories().iter().enumerate() {
        let target = root.path().join(number.to_string());
        for map in ["node_map.npy", "edge_map.npy"] {
            if json.with_file_name(map).exists() {
                copy(json.parent().unwrap(), &target);
                let (path, json) = (target.join(map), target.join(json.file_name().unwrap()));
                let read: Read = Rc::new(move |way| directory(&json, way));
                seeds.push(Seed::new(fs::read(&path).unwrap(), Syntax::Npy, &path, read));
            }
        }
    }
    run("npy", &seeds);
}

/// An array whose values are 0, 1, ... `end` - 1 over and over.
fn numbers(dtype: Dtype, shape: &[u64], end: u64) -> Vec<u8> {
    let mut file = npy_header(dtype, shape).unwrap();
    for at in 0..shape.iter().product() {
        match dtype {
            Dtype::F32 => file.extend(((at % end) as f32).to_le_bytes()),
            Dtype::U8 => file.push((at % end) as u8),
            _ => file.extend((at % end).to_le_bytes()),
        }
    }
    file
}

fn imported(root: &Path) -> Vec<Seed> {
    let edges = numbers(Dtype::I64, &[2, 12], NODES);
    let fortran = String::from_utf8_lossy(&edges).contains("False").then(|| {
        let at = edges.windows(5).position(|word| word == b"False").unwrap();
        [&edges[..at], b"True ", &edges[at + 5..]].concat()
    });
    let feat = numbers(Dtype::F32, &[NODES, 3], 5);
    let arrays = [
        ("edges.npy", edges.clone()),
        ("edges.npy", fortran.unwrap()),
        ("edges.npy", numbers(Dtype::I64, &[12, 2], NODES)),
        ("feat.npy", feat.clone()),
        ("feat.npy", numbers(Dtype::U8, &[NODES], 2)),
        ("weight.npy", numbers(Dtype::F32, &[12], 5)),
        ("train.npy", numbers(Dtype::I64, &[4], NODES)),
        ("alone.npy", numbers(Dtype::I64, &[2, 2, 2], 9)),
    ];
    let mut seeds = Vec::new();
    for (name, content) in arrays {
        let path = files(root, &format!("npy{}", seeds.len()), &edges, &feat).join(name);
        seeds.push(Seed::new(content, Syntax::Npy, &path, read(&path)));
    }
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let path = files(root, &format!("npz{}", seeds.len()), &edges, &feat).join("edges.npz");
        let more = feat.clone();
        let pack: Pack = Rc::new(move |edges| {
            archive([("edge_index.npy", edges), ("node_feat.npy", &more)].into_iter(), method)
        });
        let whole = pack(&edges);
        seeds.push(Seed::new(edges.clone(), Syntax::Npy, &path, read(&path)).packed(pack));
        seeds.push(Seed::new(whole, Syntax::BINARY, &path, read(&path)));
    }
    seeds
}

/// A folder with the arrays of a small graph.
fn files(root: &Path, name: &str, edges: &[u8], feat: &[u8]) -> std::path::PathBuf {
    let folder = root.join(name);
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("edges.npy"), edges).unwrap();
    fs::write(folder.join("feat.npy"), feat).unwrap();
    folder
}

/// Reads the graph around a file, or the file alone.
fn read(path: &Path) -> Read {
    let (path, folder) = (path.to_owned(), path.parent().unwrap().to_owned());
    let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
    let is_archive = path.extension().is_some_and(|extension| extension == "npz");
    Rc::new(move |way| {
        if name == "alone" || way % 4 == 0 && !is_archive && name != "edges" {
            return array(&open_npy(&path)?);
        }
        let edges = if is_archive { path.clone() } else { folder.join("edges.npy") };
        let edges = EdgeFile { path: edges, ..GraphFiles::parse_edges("--edges", "x").unwrap() };
        let mut files = GraphFiles { edges: vec![edges], ..GraphFiles::default() };
        let ty = || "_N".to_owned();
        match name.as_str() {
            "weight" => {
                let text = format!("weight={}", path.display());
                files.edge_data = vec![GraphFiles::parse_edge_data("--edge-data", &text).unwrap()];
            }
            "train" => files.splits = vec![DataFile::new(ty(), "train", &path)],
            _ => files.node_data = vec![DataFile::new(ty(), "feat", &folder.join("feat.npy"))],
        }
        if is_archive && way % 2 == 0 {
            files.node_data[0].path.clone_from(&path);
            files.node_data[0].array = Some("node_feat".to_owned());
        }
        raw(&import(&files, &folder, 1 << 20, &mut |_, _| Ok(()))?)
    })
}

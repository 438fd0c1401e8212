//! Texts: edge lists, tables, names, lists of nodes, METIS's graphs, assignments, folders of OGB; plain and compressed.

use crate::campaign::{Pack, Read, Seed, run};
use crate::consume::raw;
use crate::folder::folder;
use crate::guard::BUFFERS;
use crate::mutate::Syntax;
use flate2::Compression;
use flate2::write::GzEncoder;
use sar::prepare::import::{DataFile, GraphFiles, NodeIds, import, read_assignment};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A line may have 2^16 columns, which take some hundred bytes each; packed, it takes little in the file.
const COLUMNS: usize = (1 << 16) * 400;

const EDGES: &str = "# a comment\n0 1\n1 2\n2\t3\n3 4\n\n4 5\n5 0\n";
const CSV: &str = "src,dst,weight\n0,1,0.5\n1,2,1\n\"2\",\"3\",-1.5e3\n3,4,true\n4,5,7\n5,0,8\n";
const NAMED: &str = "\"New York\",Rome\nRome,\"say \"\"hi\"\"\"\nParis,Rome\n";
const NAMES: &str = "Rome\n\"New York\"\n\"say \"\"hi\"\"\"\nParis\n";
const TABLE: &str = "a b\n1 2\n3 4\n0.5 -1\n7 8e3\n9 10\n11 12\n";
const SPLIT: &str = "0\n3\n5\n";
const METIS: &str = "% weighted\n3 2 011 1\n1 2 7\n1 1 7 3 9\n1 2 9\n";
const MATRIX: &str = "%%MatrixMarket matrix coordinate real general\n% a comment\n6 6 4\n1 2 0.5\n2 3 1\n3 4 -2e3\n6 1 7\n";
const DENSE: &str = "%%MatrixMarket matrix array integer symmetric\n3 3\n0\n1\n1\n0\n1\n0\n";
const JSON: &str = "{\"source\": 0, \"target\": 1, \"weight\": 0.5}\n{\"target\": 2, \"source\": 1, \"weight\": 2}\n\
    {\"source\": 2, \"target\": 0, \"weight\": true}\n";
const OBJECTS: &str = "[{\"feat\": [1, 2.5], \"x\": \"\\u0031\"}, {\"feat\": [3, -4], \"x\": 2},\n {\"x\": 5, \"feat\": [6, 7e1]}]";
const PARTS: &str = "0\n1\n0\n1\n1\n0\n";

#[test]
fn text() {
    let root = folder();
    let mut seeds = Vec::new();
    let mut add = |name: &str, text: &str, read: fn(&Path) -> sar::Result<()>| {
        let folder = root.path().join(seeds.len().to_string());
        write(&folder, "edges.txt", EDGES);
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let read: Read = Rc::new(move |_| read(&folder));
        let seed = Seed::new(text.as_bytes().to_owned(), Syntax::Text, &path, read);
        seeds.push(Seed { buffers: BUFFERS + COLUMNS, ..seed });
    };
    add("edges.txt", EDGES, |folder| graph(folder, edges(folder, "edges.txt")));
    add("edges.csv", CSV, |folder| {
        let edge_columns = vec!["weight".to_owned()];
        graph(folder, GraphFiles { edge_columns, ..edges(folder, "edges.csv") })
    });
    add("named.csv", NAMED, |folder| {
        graph(folder, GraphFiles { node_ids: NodeIds::String, ..edges(folder, "named.csv") })
    });
    add("names.txt", NAMES, |folder| {
        let node_names = vec![("_N".to_owned(), folder.join("names.txt"))];
        fs::write(folder.join("named.csv"), NAMED).unwrap();
        graph(folder, GraphFiles { node_names, ..edges(folder, "named.csv") })
    });
    add("table.txt", TABLE, |folder| {
        let node_data = vec![data("feat", &folder.join("table.txt"))];
        graph(folder, GraphFiles { node_data, ..edges(folder, "edges.txt") })
    });
    add("split.txt", SPLIT, |folder| {
        let splits = vec![data("train", &folder.join("split.txt"))];
        graph(folder, GraphFiles { splits, ..edges(folder, "edges.txt") })
    });
    // Their ids decide how many nodes there are, and so how long a mask is.
    add("edges.txt", EDGES, |folder| {
        fs::write(folder.join("split.txt"), SPLIT).unwrap();
        let splits = vec![data("train", &folder.join("split.txt"))];
        graph(folder, GraphFiles { splits, ..edges(folder, "edges.txt") })
    });
    add("metis.graph", METIS, |folder| {
        let edge_columns = vec!["weight".to_owned()];
        graph(folder, GraphFiles { edge_columns, ..edges(folder, "metis.graph") })
    });
    for (name, text) in [("matrix.mtx", MATRIX), ("dense.mtx", DENSE)] {
        add(name, text, |folder| {
            let path = ["matrix.mtx", "dense.mtx"].map(|name| folder.join(name));
            let path = path.iter().find(|path| path.exists()).unwrap();
            let edge_columns = vec!["weight".to_owned()];
            let node_data = vec![data("feat", path)];
            let name = path.file_name().unwrap().to_str().unwrap();
            graph(folder, GraphFiles { edge_columns, node_data, ..edges(folder, name) })
        });
    }
    add("edges.jsonl", JSON, |folder| {
        let edge_columns = vec!["weight".to_owned()];
        graph(folder, GraphFiles { edge_columns, ..edges(folder, "edges.jsonl") })
    });
    add("feat.json", OBJECTS, |folder| {
        fs::write(folder.join("edges.txt"), "0 1\n1 2\n").unwrap();
        let node_data = vec![data("feat", &folder.join("feat.json"))];
        graph(folder, GraphFiles { node_data, ..edges(folder, "edges.txt") })
    });
    add("parts.txt", PARTS, |folder| {
        read_assignment(&folder.join("parts.txt"), 6, 2, &mut Vec::new())
    });
    seeds.extend(compressed(root.path()));
    run("text", &seeds);
}

/// An OGB folder with each of its files, mutated before and after compression.
fn compressed(root: &Path) -> Vec<Seed> {
    let files = [
        ("raw/edge.csv.gz", "0,1\n1,2\n2,3\n3,0\n"),
        ("raw/num-node-list.csv.gz", "4\n"),
        ("raw/node-feat.csv.gz", "0.5,1\n2,3\n4,5\n6,7\n"),
        ("raw/edge-feat.csv.gz", "1\n2\n3\n4\n"),
        ("split/time/train.csv.gz", "0\n1\n"),
    ];
    let ogb = root.join("ogb");
    for (name, text) in files {
        fs::create_dir_all(ogb.join(name).parent().unwrap()).unwrap();
        fs::write(ogb.join(name), gzip(text.as_bytes())).unwrap();
    }
    let folder = ogb.clone();
    let read: Read = Rc::new(move |_| graph(&folder, GraphFiles::of_ogb(&folder)?));
    let pack: Pack = Rc::new(gzip);
    let seeds = files.iter().flat_map(|(name, text)| {
        let (path, read) = (ogb.join(name), || Rc::clone(&read));
        let plain = Seed::new(text.as_bytes().to_owned(), Syntax::Text, &path, read());
        let zipped = Seed::new(gzip(text.as_bytes()), Syntax::BINARY, &path, read());
        let seeds = [plain.packed(Rc::clone(&pack)), zipped];
        seeds.map(|seed| Seed { buffers: BUFFERS + COLUMNS, ..seed })
    });
    seeds.collect()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join(name), text).unwrap();
    folder.join(name)
}

fn edges(folder: &Path, name: &str) -> GraphFiles {
    let path = folder.join(name).display().to_string();
    let edges = vec![GraphFiles::parse_edges("--edges", &path).unwrap()];
    GraphFiles { edges, ..GraphFiles::default() }
}

fn data(name: &str, path: &Path) -> DataFile<String> {
    DataFile::new("_N".to_owned(), name, path)
}

fn graph(folder: &Path, files: GraphFiles) -> sar::Result<()> {
    raw(&import(&files, folder, 1 << 20, &mut |_, _| Ok(()))?)
}

//! Guards against: formats of other tools that are misread.

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::{InnerEdge, Partition, verify};
use sar::io::Dtype;
use sar::prepare::import::{GraphFiles, ImportSource};
use sar::prepare::partition::{Method, PartitionRequest, partition_graph};

use predicates::str::contains;

use super::archives::{array, whole, write_npz};
use super::columns::{refused, sar};
use super::common::files;
use super::common::repository;
use super::support::{edges, lines, partition, request, table, write};

/// The content of a partition: edges (source, destination, type), and tables of nodes and edges by key.
pub(crate) type Content = (Vec<(u64, u64, usize)>, Vec<(String, Vec<f64>)>);

pub(crate) fn content(json: &Path, part: usize) -> Content {
    let config = PartitionConfig::open(json).unwrap();
    let partition = Partition::open(&config, part).unwrap();
    let mut found = Vec::new();
    let push = |edge: InnerEdge| {
        found.push((edge.src, edge.dst, edge.etype));
        Ok(())
    };
    partition.each_edge(push).unwrap();
    found.sort_unstable();
    let mut tables = Vec::new();
    for set in [partition.node_features(), partition.edge_features()] {
        for feature in set.features() {
            let array = feature.array();
            let mut values = vec![0.0; (array.num_rows() * array.row_len()) as usize];
            array.read_f64(0..array.num_rows(), &mut values).unwrap();
            let key = format!("{} {} {:?}", feature.key(), array.dtype(), array.row_shape());
            // Edges of one type may be in another order.
            if feature.key().contains(':') {
                values.sort_unstable_by(f64::total_cmp);
            }
            tables.push((key, values));
        }
    }
    tables.sort_by(|a, b| a.0.cmp(&b.0));
    (found, tables)
}

/// DGL 2.1.0's pipeline made `out_numpy` of `chunked_numpy` and `assignment`.
#[test]
fn chunked_graphs_give_what_dgls_pipeline_gives() {
    let samples = repository("tests/fixtures/chunked");
    let folder = tempfile::tempdir().unwrap();
    let assignment = ["author", "paper"]
        .map(|ty| (ty.to_owned(), samples.join(format!("assignment/{ty}.txt"))))
        .to_vec();
    let request =
        PartitionRequest { method: Method::File, assignment, name: "chk".to_owned(), ..request(2) };
    let due = samples.join("out_numpy/metadata.json");
    let mut outputs = Vec::new();
    for form in ["chunked_numpy", "chunked_parquet"] {
        let source = ImportSource::Files(
            GraphFiles::of_chunks(&samples.join(form).join("metadata.json")).unwrap(),
        );
        let out = folder.path().join(form);
        let done = partition_graph(&source, &request, &out, &mut |_| Ok(())).unwrap();
        assert!(verify(&PartitionConfig::open(&done.json).unwrap()).is_empty());
        for part in 0..2 {
            assert_eq!(content(&done.json, part), content(&due, part), "{form}, partition {part}");
        }
        outputs.push(files(&out));
    }
    assert!(outputs[0] == outputs[1], "numpy and parquet make different partitions");
}

#[test]
fn both_forms_of_chunk_counts_are_read_and_contradictions_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(
        repository("tests/fixtures/chunked/chunked_numpy").join("metadata.json"),
    );
    let mut json: serde_json::Value = serde_json::from_str(&text.unwrap()).unwrap();
    let read = |json: &serde_json::Value| {
        GraphFiles::of_chunks(&write(folder.path(), "metadata.json", &json.to_string()))
    };
    let both = read(&json).unwrap();
    let object = json.as_object_mut().unwrap();
    let per_type = object.remove("num_nodes_per_type").unwrap();
    assert_eq!(read(&json).unwrap(), both);
    let object = json.as_object_mut().unwrap();
    object.insert("num_nodes_per_type".to_owned(), per_type);
    object.remove("num_nodes_per_chunk");
    assert_eq!(read(&json).unwrap(), both);
    json["num_nodes_per_chunk"] = serde_json::json!([[9, 9], [1, 1]]);
    assert!(read(&json).unwrap_err().to_string().contains("contradict each other"));
    let edges = json["edges"]["paper:rev:author"].clone();
    json["edges"]["paper:has:author"] = edges;
    json["num_nodes_per_chunk"] = serde_json::Value::Null;
    assert!(read(&json).unwrap_err().to_string().contains("paper:has:author is not in edge_type"));
    json.as_object_mut().unwrap().remove("node_type");
    assert!(read(&json).unwrap_err().to_string().contains("missing field `node_type`"));
}

pub(crate) fn gzip(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = GzEncoder::new(fs::File::create(path).unwrap(), Compression::fast());
    file.write_all(text.as_bytes()).unwrap();
    file.finish().unwrap();
}

#[test]
fn a_data_set_of_ogb_is_read_with_its_split() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    gzip(here, "raw/edge.csv.gz", "0,1\n1,2\n2,3\n3,0\n");
    gzip(here, "raw/num-node-list.csv.gz", "5\n");
    gzip(here, "raw/node-feat.csv.gz", &lines((0..5).map(|at| format!("{at}.5,-0.25"))));
    gzip(here, "raw/node-label.csv.gz", &lines(0..5));
    gzip(here, "split/time/train.csv.gz", "0\n4\n");
    gzip(here, "split/time/valid.csv.gz", "1\n");
    gzip(here, "split/time/test.csv.gz", "2\n3\n");
    let graph = GraphFiles::of_ogb(here).unwrap();
    let out = here.join("out");
    let done = partition(graph, &request(1), &out).unwrap();
    let (edges, tables) = content(&done.json, 0);
    assert_eq!(edges, [(0, 1, 0), (1, 2, 0), (2, 3, 0), (3, 0, 0)]);
    let due = [
        table("_N/feat float32 [2]", &[0.5, -0.25, 1.5, -0.25, 2.5, -0.25, 3.5, -0.25, 4.5, -0.25]),
        table("_N/label int64 []", &[0.0, 1.0, 2.0, 3.0, 4.0]),
        table("_N/test_mask uint8 []", &[0.0, 0.0, 1.0, 1.0, 0.0]),
        table("_N/train_mask uint8 []", &[1.0, 0.0, 0.0, 0.0, 1.0]),
        table("_N/val_mask uint8 []", &[0.0, 1.0, 0.0, 0.0, 0.0]),
    ];
    assert_eq!(tables, due);
    gzip(here, "split/random/train.csv.gz", "0\n");
    assert!(GraphFiles::of_ogb(here).unwrap_err().to_string().contains("holds 2 splits"));
    assert!(GraphFiles::of_ogb(&out).unwrap_err().to_string().contains("raw/edge.csv.gz"));
}

/// OGB's loader reads `data.npz` in whole, and calls other files by names of its own.
#[test]
fn files_of_ogb_that_are_not_read_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    fs::create_dir_all(here.join("raw")).unwrap();
    let archive = |num_nodes: &[i64]| {
        let arrays = [
            ("edge_index", array(Dtype::I64, &[2, 2], &[0, 1, 2, 0])),
            ("num_nodes_list", whole(num_nodes)),
            ("num_edges_list", whole(&[2])),
            ("node_year", whole(&[7, 8, 9, 9])),
            ("edge_time", whole(&[5, 6])),
        ];
        write_npz(here, "raw/data.npz", &arrays);
    };
    archive(&[4]);
    gzip(here, "raw/species.csv.gz", "1\n1\n2\n2\n");
    write(here, "raw/x.pt", "");
    sar(here, "--ogb . --num-parts 1 --out o").success().stderr(contains(
        "note: .: left out: raw/species.csv.gz, raw/x.pt; pickles (.pt), which can run any code, are not read",
    ));
    let (edges, tables) = content(&here.join("o/g.json"), 0);
    assert_eq!(edges, [(0, 2, 0), (1, 0, 0)]);
    let time = table("_N:_E:_N/time int64 []", &[5.0, 6.0]);
    assert_eq!(tables, [table("_N/year int64 []", &[7.0, 8.0, 9.0, 9.0]), time]);
    archive(&[3, 1]);
    refused(here, "--ogb .", "num_nodes_list: does not hold one number")
        .stderr(contains("a data set of one graph is needed"));
    fs::remove_file(here.join("raw/data.npz")).unwrap();
    write(here, "raw/edge_index_dict.npz", "");
    refused(here, "--ogb .", "holds edges of several types in edge_index_dict.npz");
}

#[test]
fn a_graph_of_metis_is_read_with_its_weights() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    // The manual's example: weights of nodes and edges, and an isolated node.
    let path = write(here, "m.graph", "% a comment\n4 2 011 1\n7 2 5 3 1\n8 1 5\n9 1 1\n1\n");
    let mut graph = edges(&path);
    graph.edge_columns = vec!["weight".to_owned()];
    let done = partition(graph, &request(1), &here.join("weighted")).unwrap();
    let (found, tables) = content(&done.json, 0);
    assert_eq!(found, [(0, 1, 0), (0, 2, 0), (1, 0, 0), (2, 0, 0)]);
    assert_eq!(done.nodes, 4);
    assert_eq!(tables, [("_N:_E:_N/weight int64 []".to_owned(), vec![1.0, 1.0, 5.0, 5.0])]);
    let path = write(here, "plain.graph", "3 2\n2\n1 3\n2\n");
    let done = partition(edges(&path), &request(1), &here.join("plain")).unwrap();
    assert_eq!(content(&done.json, 0).0, [(0, 1, 0), (1, 0, 0), (1, 2, 0), (2, 1, 0)]);
    for (text, due) in [
        ("3 2\n2\n1 3\n", "line 3: is the last line, but only 2 of 3 nodes have one"),
        ("3 2\n2\n1 4\n2\n", "line 3: \"4\" is not one of the 3 nodes"),
        ("3 2\n2\n1 0\n2\n", "line 3: \"0\" is not one of the 3 nodes"),
        (
            "3 3\n2\n1 3\n2\n",
            "the lines list 4 neighbours, but 3 edges, as the first line states, have 2 x 3",
        ),
        ("2 1\n2\n1\n\n1\n", "line 5: comes after the last of 2 nodes"),
        ("x\n", "line 1"),
    ] {
        let path = write(here, "wrong.graph", text);
        let error = partition(edges(&path), &request(1), &here.join("wrong")).unwrap_err();
        assert!(error.to_string().contains(due), "{text:?}: {error}");
    }
}

/// A data set of GraphBolt, in the form that its author writes.
#[test]
fn data_sets_of_graphbolt_are_read_with_labels_and_splits() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let of_set = |name: &str, file: &str| {
        format!("  {name}_set:\n  - data:\n    - {{}}\n").replace("- {}", &format!(
            "- name: seeds\n      format: numpy\n      path: {file}.csv\n    - name: labels\n      path: {file}-y.csv"
        ))
    };
    let sets = [of_set("train", "train"), of_set("validation", "val")].concat();
    let text = format!(
        "dataset_name: tiny\ngraph: # the topology\n  nodes:\n    - num: 4\n  edges:\n    - format: csv\n      path: e.csv\n\
         feature_data:\n  - domain: node\n    type: null\n    name: feat\n    path: x.csv\n  - domain: edge\n    name: w\n    \
         path: w.csv\ntasks:\n- name: node_classification\n  num_classes: 2\n{sets}- name: other\n"
    );
    write(here, "metadata.yaml", &text);
    write(here, "e.csv", "0,1\n1,2\n2,0\n3,0\n0,2\n");
    write(here, "x.csv", "0,1\n2,3\n4,5\n6,7\n");
    write(here, "w.csv", "0\n1\n2\n3\n4\n");
    for (name, text) in
        [("train", "0\n2\n"), ("train-y", "1\n0\n"), ("val", "3\n"), ("val-y", "1\n")]
    {
        write(here, &format!("{name}.csv"), text);
    }
    let words = "--chunked metadata.yaml --num-parts 1";
    sar(here, &format!("{words} --out o")).success().stderr(contains("left out: other"));
    let (edges, tables) = content(&here.join("o/g.json"), 0);
    assert_eq!(edges, [(0, 1, 0), (0, 2, 0), (1, 2, 0), (2, 0, 0), (3, 0, 0)]);
    let due = [
        ("_N/feat int64 [2]", &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0][..]),
        ("_N/label int64 []", &[1.0, -1.0, 0.0, 1.0]),
        ("_N/train_mask uint8 []", &[1.0, 0.0, 1.0, 0.0]),
        ("_N/val_mask uint8 []", &[0.0, 0.0, 0.0, 1.0]),
        ("_N:_E:_N/w int64 []", &[0.0, 1.0, 2.0, 3.0, 4.0]),
    ];
    let mut due = due.map(|(key, values)| (key.to_owned(), values.to_vec()));
    due.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(tables, due);
    write(here, "train-y.csv", "1\n");
    refused(here, "--chunked metadata.yaml", "has 1 labels for 2 nodes");
    write(here, "train-y.csv", "1\n0\n");
    write(here, "val.csv", "0\n");
    write(here, "val-y.csv", "0\n");
    refused(here, "--chunked metadata.yaml", "val.csv: row 0: node 0 has the labels 1 and 0");
    write(here, "val.csv", "3,1\n2,0\n");
    refused(here, "--chunked metadata.yaml", "val.csv: lists edges with labels");
    write(here, "metadata.yaml", &text.replace("name: labels", "in_memory: true"));
    refused(here, "--chunked metadata.yaml", "the set train has an array without a name");
    write(
        here,
        "metadata.yaml",
        &text.replace(
            "- name: seeds\n      format: numpy\n      path: val.csv\n    - name",
            "- name",
        ),
    );
    refused(here, "--chunked metadata.yaml", "the set val has no seeds");
    write(here, "metadata.yaml", "dataset_name: d\nedge_data:\n- file_name: e.csv\n");
    refused(here, "--chunked metadata.yaml", "describes a CSVDataset of DGL")
        .stderr(contains("--node-table nodes.csv"));
    write(here, "metadata.yaml", &text.replace("path: x.csv", "format: torch\n    path: x.pt"));
    refused(here, "--chunked metadata.yaml", "x.pt: is a file of torch, which is not read");
    write(here, "metadata.yaml", "dataset_name: [1\n");
    refused(
        here,
        "--chunked metadata.yaml",
        "is not the metadata of a data set: unclosed bracket '[' at line 1, column 15",
    );
}

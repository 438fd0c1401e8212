//! Guards against: partitions that hold the nodes of one type, or of one value of their data, although these are to be balanced.

use std::path::Path;

use predicates::str::contains;
use sar::formats::dgl::config::PartitionConfig;
use sar::graph::PartitionBook;
use sar::prepare::import::GraphFiles;
use sar::prepare::partition::{Method, PartitionRequest};

use super::program::Program;
use super::support::{edges, lines, partition, request, write};

/// A ring with chords over the nodes from `first` on, as text.
fn ring(first: u64, nodes: u64) -> String {
    let far = [1, 2, 5, 9];
    lines((0..nodes).flat_map(|node| {
        far.map(|far| format!("{} {}", first + node, first + (node + far) % nodes))
    }))
}

/// The share of each partition in the nodes of each type.
fn shares(book: &PartitionBook) -> Vec<Vec<f64>> {
    let of_type = |ntype: usize| {
        let total = book.num_nodes_of_type(ntype) as f64;
        let share = |part| {
            let nodes = book.node_type_range(part, ntype);
            (nodes.end - nodes.start) as f64 / total
        };
        (0..book.num_parts()).map(share).collect()
    };
    (0..book.ntypes().len()).map(of_type).collect()
}

#[test]
fn every_partition_gets_its_share_of_each_node_type() {
    let folder = tempfile::tempdir().unwrap();
    // Two halves without an edge between them: the best cut without balanced types.
    let (papers, authors) = (ring(0, 600), ring(0, 400));
    let edge = |name: &str, text: &str| {
        let path = write(folder.path(), &format!("{name}.txt"), text);
        GraphFiles::parse_edges("edges", &format!("{name}:to:{name}={}", path.display())).unwrap()
    };
    let files = GraphFiles {
        edges: vec![edge("paper", &papers), edge("author", &authors)],
        ..GraphFiles::default()
    };
    for (name, method) in [("stream", Method::Stream), ("metis", Method::Metis)] {
        let request = PartitionRequest { method, ..request(2) };
        let done = partition(files.clone(), &request, &folder.path().join(name)).unwrap();
        let config = PartitionConfig::open(&done.json).unwrap();
        for (ntype, shares) in shares(config.book()).into_iter().enumerate() {
            assert!(
                shares.iter().all(|s| (s - 0.5).abs() < 0.06),
                "{name}, type {ntype}: {shares:?}"
            );
        }
    }
}

/// Nodes of each kind by partition: the kind is the original id divided by 300.
fn kinds(json: &Path) -> Vec<[usize; 2]> {
    let config = PartitionConfig::open(json).unwrap();
    let book = config.book();
    let column = sar::formats::dgl::open_node_features(&config, 0).unwrap();
    assert!(column.features().iter().any(|feature| feature.name() == "kind"));
    let mut found = Vec::new();
    for part in 0..book.num_parts() {
        let set = sar::formats::dgl::open_node_features(&config, part).unwrap();
        let feature = set.features().iter().find(|feature| feature.name() == "kind").unwrap();
        let rows = feature.array().num_rows();
        let mut values = vec![0; rows as usize];
        feature.array().read_i64(0..rows, &mut values).unwrap();
        let count = |kind: i64| values.iter().filter(|value| **value == kind).count();
        found.push([count(-1), count(7)]);
    }
    found
}

#[test]
fn every_partition_gets_its_share_of_each_value_of_node_data() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "edges.txt", &(ring(0, 300) + &ring(300, 300)));
    let kinds_of = lines((0..600).map(|node| if node < 300 { -1 } else { 7 }));
    let data = write(folder.path(), "kind.csv", &kinds_of);
    let mut files = edges(&path);
    let data = format!("kind={}", data.display());
    files.node_data = vec![GraphFiles::parse_node_data("node_data", &data).unwrap()];
    let cut = |name: &str, balance: Option<&str>, method| {
        let balance_ntypes = balance.map(str::to_owned);
        let request = PartitionRequest { method, balance_ntypes, ..request(2) };
        partition(files.clone(), &request, &folder.path().join(name))
    };
    let plain = kinds(&cut("plain", None, Method::Metis).unwrap().json);
    assert!(plain.iter().any(|[a, b]| a.min(b) == &0), "one ring per partition: {plain:?}");
    for (name, method) in [("stream", Method::Stream), ("metis", Method::Metis)] {
        let balanced = kinds(&cut(name, Some("kind"), method).unwrap().json);
        let near = |count: &usize| count.abs_diff(150) <= 9;
        assert!(balanced.iter().flatten().all(near), "{name}: {balanced:?}");
    }
    let error = cut("unknown", Some("sort"), Method::Metis).unwrap_err().to_string();
    assert_eq!(error, "balance_ntypes: no type of nodes has the data `sort`");
    let error = cut("range", Some("kind"), Method::Range).unwrap_err();
    assert!(error.to_string().contains("method = stream"), "{error:?}");
}

#[test]
fn too_many_values_are_refused_by_flag() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "edges.txt", &ring(0, 100));
    let data = write(folder.path(), "id.csv", &lines(0..100));
    let mut command = Program::new();
    command.arg("partition").arg("--edges").arg(&path);
    command.arg("--node-data").arg(format!("id={}", data.display()));
    command.args(["--num-parts", "2", "--balance-ntypes", "id", "--out"]);
    command.arg(folder.path().join("parts"));
    command
        .assert()
        .code(1)
        .stderr(contains("--balance-ntypes: `id` makes more than 32 classes of nodes"));
    assert!(!folder.path().join("parts").exists());
}

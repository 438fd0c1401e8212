//! Guards against: reverse relations with wrong ends, names or data, and heterogeneous data sets of OGB that are misread.

use std::path::Path;

use predicates::str::contains;
use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::verify;
use sar::prepare::import::GraphFiles;
use sar::prepare::partition::{EdgeRules, PartitionRequest};

use super::columns::sar;
use super::formats::{content, gzip};
use super::support::{partition, request, table, write};

fn reversed(num_parts: usize) -> PartitionRequest {
    let rules = EdgeRules { reverse_relations: true, ..EdgeRules::default() };
    PartitionRequest { rules, ..request(num_parts) }
}

/// Three authors, four papers, and two relations, one of them with weights.
fn papers(folder: &Path) -> GraphFiles {
    let writes = write(folder, "writes.csv", "0,0,5\n0,1,6\n2,3,7\n");
    let cites = write(folder, "cites.csv", "1,0,1\n3,3,2\n");
    let edge = |text: String| GraphFiles::parse_edges("edges", &text).unwrap();
    GraphFiles {
        edges: vec![
            edge(format!("author:writes:paper={}", writes.display())),
            edge(format!("paper:cites:paper={}", cites.display())),
        ],
        edge_columns: vec!["w".to_owned()],
        ..GraphFiles::default()
    }
}

#[test]
fn every_relation_between_types_gets_a_reverse_and_all_others_both_directions() {
    let folder = tempfile::tempdir().unwrap();
    let graph = papers(folder.path());
    let done = partition(graph.clone(), &reversed(1), &folder.path().join("one")).unwrap();
    let config = PartitionConfig::open(&done.json).unwrap();
    let etypes: Vec<String> = config.book().etypes().iter().map(ToString::to_string).collect();
    assert_eq!(etypes, ["author:writes:paper", "paper:cites:paper", "paper:rev_writes:author"]);
    let (edges, tables) = content(&done.json, 0);
    // Authors are 0 to 2, papers 3 to 6.
    let due = [
        (0, 3, 0),
        (0, 4, 0),
        (2, 6, 0),
        (3, 0, 2),
        (3, 4, 1),
        (4, 0, 2),
        (4, 3, 1),
        (6, 2, 2),
        (6, 6, 1),
    ];
    assert_eq!(edges, due);
    let due = [
        table("author:writes:paper/w int64 []", &[5.0, 6.0, 7.0]),
        table("paper:cites:paper/w int64 []", &[1.0, 1.0, 2.0]),
        table("paper:rev_writes:author/w int64 []", &[5.0, 6.0, 7.0]),
    ];
    assert_eq!(tables, due);
    let done = partition(graph, &reversed(2), &folder.path().join("two")).unwrap();
    let found = verify(&PartitionConfig::open(&done.json).unwrap());
    assert!(found.is_empty(), "{found:?}");
    // The directory has the reverse relations already.
    let again = folder.path().join("again");
    sar(folder.path(), "--part-json one/g.json --reverse-edges --num-parts 2 --out again")
        .code(1)
        .stderr(contains("--reverse-edges: the graph has paper:rev_writes:author already"));
    assert!(!again.exists());
}

#[test]
fn without_relations_between_types_there_is_nothing_to_reverse() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "e.csv", "0,1\n1,2\n");
    sar(folder.path(), "--edges e.csv --reverse-edges --num-parts 1 --out out")
        .code(1)
        .stderr(contains("--reverse-edges: has no effect"))
        .stderr(contains("pass --undirected"));
    sar(folder.path(), "--edges e.csv --reverse-edges --undirected --num-parts 1 --out out")
        .code(2)
        .stderr(contains("cannot be used with"));
    sar(folder.path(), "--edges a:r:b=e.csv --undirected --num-parts 1 --out out")
        .code(1)
        .stderr(contains("pass --reverse-edges"));
    assert!(!folder.path().join("out").exists());
}

/// A data set of the form of ogbn-mag.
fn mag(folder: &Path) {
    gzip(folder, "raw/triplet-type-list.csv.gz", "author,writes,paper\npaper,cites,paper\n");
    gzip(folder, "raw/num-node-dict.csv.gz", "author,paper\n2,3\n");
    gzip(folder, "raw/nodetype-has-feat.csv.gz", "author,paper\nFalse,True\n");
    gzip(folder, "raw/relations/author___writes___paper/edge.csv.gz", "0,0\n1,2\n1,1\n");
    gzip(folder, "raw/relations/author___writes___paper/num-edge-list.csv.gz", "3\n");
    gzip(folder, "raw/relations/paper___cites___paper/edge.csv.gz", "2,0\n");
    gzip(folder, "raw/node-feat/paper/node-feat.csv.gz", "0.5,1\n0.25,2\n0.125,3\n");
    gzip(folder, "raw/node-feat/paper/node_year.csv.gz", "2011\n2012\n2013\n");
    gzip(folder, "raw/node-label/paper/node-label.csv.gz", "1\n0\n2\n");
    gzip(folder, "split/time/nodetype-has-split.csv.gz", "author,paper\nFalse,True\n");
    gzip(folder, "split/time/paper/train.csv.gz", "0\n2\n");
    gzip(folder, "split/time/paper/valid.csv.gz", "1\n");
}

#[test]
fn a_heterogeneous_data_set_of_ogb_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    mag(here);
    let graph = GraphFiles::of_ogb(here).unwrap();
    let done = partition(graph, &request(1), &here.join("out")).unwrap();
    let (edges, tables) = content(&done.json, 0);
    assert_eq!(edges, [(0, 2, 0), (1, 3, 0), (1, 4, 0), (4, 2, 1)]);
    let due = [
        table("paper/feat float32 [2]", &[0.5, 1.0, 0.25, 2.0, 0.125, 3.0]),
        table("paper/label int64 []", &[1.0, 0.0, 2.0]),
        table("paper/train_mask uint8 []", &[1.0, 0.0, 1.0]),
        table("paper/val_mask uint8 []", &[0.0, 1.0, 0.0]),
        table("paper/year int64 []", &[2011.0, 2012.0, 2013.0]),
    ];
    assert_eq!(tables, due);
    sar(here, "--ogb . --reverse-edges --num-parts 2 --out reversed").success();
}

#[test]
fn what_is_wrong_in_a_heterogeneous_data_set_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let fails = |due: &str| {
        sar(here, "--ogb . --num-parts 1 --out out").code(1).stderr(contains(due));
        assert!(!here.join("out").exists());
    };
    mag(here);
    gzip(here, "raw/num-node-dict.csv.gz", "author,paper\n2,3\n4,5\n");
    fails("num-node-dict.csv.gz: line 3: announces a second graph");
    gzip(here, "raw/num-node-dict.csv.gz", "author,paper\n2\n");
    fails("num-node-dict.csv.gz: line 2: has 1 column, but the first line names 2");
    gzip(here, "raw/num-node-dict.csv.gz", "author,paper\n2,3\n");
    gzip(here, "raw/triplet-type-list.csv.gz", "author,writes,book\n");
    fails("triplet-type-list.csv.gz: line 1: \"book\" is not a node type of num-node-dict.csv.gz");
    gzip(here, "raw/triplet-type-list.csv.gz", "author,writes,paper\npaper,has,paper\n");
    fails("paper___has___paper/edge.csv.gz: cannot be read");
    std::fs::remove_file(here.join("raw/triplet-type-list.csv.gz")).unwrap();
    fails("triplet-type-list.csv.gz: cannot be read");
}

//! Guards against: relations that get each other's edges, splits of edges that are read as others or leak, and lists of nodes that
//! are read as edges.

use std::path::Path;

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use sar::formats::dgl::config::PartitionConfig;

use super::columns::{refused, sar};
use super::formats::{Content, content};
use super::support::{table, write};

fn graph(folder: &Path, words: &str) -> (Vec<String>, Content) {
    sar(folder, &format!("{words} --num-parts 1 --out out")).success();
    let json = folder.join("out/g.json");
    let config = PartitionConfig::open(&json).unwrap();
    let etypes = config.book().etypes().iter().map(ToString::to_string).collect();
    let content = content(&json, 0);
    std::fs::remove_dir_all(folder.join("out")).unwrap();
    (etypes, content)
}

/// As WN18RR is written.
fn wordnet(folder: &Path) {
    write(folder, "train.txt", "001\t_hypernym\t002\n003\t_similar_to\t004\n002\t_hypernym\t003\n");
    write(folder, "valid.txt", "001\t_similar_to\t003\n");
    write(folder, "test.txt", "002\t_hypernym\t003\n004\t_hypernym\t005\n");
}

#[test]
fn each_relation_becomes_an_edge_type_and_splits_become_masks() {
    let folder = tempfile::tempdir().unwrap();
    wordnet(folder.path());
    let words = "--edges train.txt --relation-column 2 --node-ids string";
    let (etypes, (edges, tables)) = graph(folder.path(), words);
    assert_eq!(etypes, ["_N:_hypernym:_N", "_N:_similar_to:_N"]);
    assert_eq!((edges, tables), (vec![(0, 1, 0), (1, 2, 0), (2, 3, 1)], Vec::new()));
    // The test has one of the edges of the training, which leaves it, and one of a new node.
    let splits = "--split valid=valid.txt --split test=test.txt";
    let said =
        "splits list 3 edges (val_mask, test_mask): 1 of the files of edges, and 2 that are added";
    sar(folder.path(), &format!("{words} {splits} --num-parts 2 --out two"))
        .success()
        .stderr(contains(said));
    let (etypes, (edges, tables)) = graph(folder.path(), &format!("{words} {splits}"));
    assert_eq!(etypes, ["_N:_hypernym:_N", "_N:_similar_to:_N"]);
    assert_eq!(edges, [(0, 1, 0), (0, 2, 1), (1, 2, 0), (2, 3, 1), (3, 4, 0)]);
    let due = [
        table("_N:_hypernym:_N/test_mask uint8 []", &[0.0, 1.0, 1.0]),
        table("_N:_hypernym:_N/train_mask uint8 []", &[0.0, 0.0, 1.0]),
        table("_N:_hypernym:_N/val_mask uint8 []", &[0.0, 0.0, 0.0]),
        table("_N:_similar_to:_N/test_mask uint8 []", &[0.0, 0.0]),
        table("_N:_similar_to:_N/train_mask uint8 []", &[0.0, 1.0]),
        table("_N:_similar_to:_N/val_mask uint8 []", &[0.0, 1.0]),
    ];
    assert_eq!(tables, due);
}

#[test]
fn two_triples_without_names_of_columns_are_two_edges() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "train.tsv", "x1\tP31\tdan\ndan\t7\t77\n");
    let (etypes, (edges, _)) =
        graph(folder.path(), "--edges train.tsv --relation-column 2 --node-ids string");
    assert_eq!(etypes, ["_N:7:_N", "_N:P31:_N"]);
    assert_eq!(edges.len(), 2);
}

#[test]
fn relations_that_are_numbers_keep_their_order() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "train.txt", "a\t10\tb\nb\t9\tc\nc\t2\ta\na\t9\tc\n");
    let (etypes, (edges, _)) =
        graph(folder.path(), "--edges train.txt --relation-column 2 --node-ids string");
    assert_eq!(etypes, ["_N:2:_N", "_N:9:_N", "_N:10:_N"]);
    let mut kinds: Vec<_> = edges.iter().map(|(_, _, etype)| *etype).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, [0, 1, 1, 2]);
}

#[cfg(feature = "torch")]
#[test]
fn splits_of_triples_are_those_of_training() {
    let folder = tempfile::tempdir().unwrap();
    wordnet(folder.path());
    let words = "--edges train.txt --relation-column 2 --node-ids string --split val=valid.txt --split test=test.txt";
    sar(folder.path(), &format!("{words} --num-parts 1 --out out")).success();
    let run = "--task link --mode sample --hetero sum --layers 1 --hidden 4 --fanouts 5 --epochs 1 --spill-dir .";
    super::program::Program::new()
        .current_dir(folder.path())
        .args(["--part-json", "out/g.json", "--out", "run"])
        .args(run.split(' '))
        .assert()
        .success()
        .stderr(contains("edges are split by their masks: train_mask, val_mask, test_mask"));
}

#[test]
fn relations_have_names_of_any_form_and_data_of_one_type() {
    let folder = tempfile::tempdir().unwrap();
    let text = "w,tail,rel,head\n1,b,/film/genre,a\n2.5,a,wdt:P31,b\n3,c,/film/genre,a\n";
    write(folder.path(), "kg.csv", text);
    let words = "--edges kg.csv --relation-column rel --edge-columns w --node-ids string";
    let (etypes, (edges, tables)) = graph(folder.path(), words);
    assert_eq!(etypes, ["_N:/film/genre:_N", "_N:wdt%3AP31:_N"]);
    assert_eq!(edges, [(0, 1, 0), (0, 2, 0), (1, 0, 1)]);
    let due = [
        table("_N:/film/genre:_N/w float32 []", &[1.0, 3.0]),
        table("_N:wdt%3AP31:_N/w float32 []", &[2.5]),
    ];
    assert_eq!(tables, due);
}

#[test]
fn splits_list_edges_where_their_columns_are_those_of_edges() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| write(folder.path(), name, text);
    file("edges.csv", "0,1\n1,2\n2,3\n3,0\n");
    file("val.csv", "2,1\n");
    file("train.txt", "1\n");
    let words = "--edges edges.csv --undirected --split val=val.csv --split train=train.txt";
    let (_, (edges, tables)) = graph(folder.path(), words);
    assert_eq!(edges.len(), 8);
    let due = [
        table("_N/train_mask uint8 []", &[0.0, 1.0, 0.0, 0.0]),
        table("_N:_E:_N/train_mask uint8 []", &[0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
        table("_N:_E:_N/val_mask uint8 []", &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0]),
    ];
    assert_eq!(tables, due);
    // A name may hold the separator.
    file("names.csv", "\"Smith, Ann\",bob\nbob,\"Smith, Ann\"\n");
    file("train.txt", "Smith, Ann\n");
    let words = "--edges names.csv --node-ids string --split train=train.txt";
    assert_eq!(graph(folder.path(), words).1.1, [table("_N/train_mask uint8 []", &[1.0, 0.0])]);
}

#[test]
fn wrong_triples_are_refused_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    wordnet(folder.path());
    write(folder.path(), "hole.csv", "head,rel,tail\na,,b\n");
    for (words, due) in [
        ("--edges train.txt", "--relation-column 2"),
        ("--edges train.txt --relation-column 4", "its 3 columns have no names"),
        ("--edges hole.csv --relation-column relation", "its columns are head, rel, tail"),
        ("--edges hole.csv --relation-column rel", "line 2: the relation is missing"),
        ("--edges a:r:b=hole.csv --relation-column rel", "names the types of edges"),
        (
            "--edges train.txt --relation-column 2 --split a:r:b/val=valid.txt",
            "no edges of type a:r:b",
        ),
    ] {
        refused(folder.path(), &format!("{words} --node-ids string"), due);
    }
    let words = "--edges train.txt --relation-column 2 --node-ids string --num-parts 1 --out out";
    sar(folder.path(), words)
        .success()
        .stderr(contains("column 2 the relation").and(contains("splits").not()));
}

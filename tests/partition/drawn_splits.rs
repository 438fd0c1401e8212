//! Guards against: shares that are not those asked for, times that are divided, an edge whose reverse is in another mask, and columns that
//! order a split and become features.

use std::path::Path;

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use sar::formats::dgl::Partition;
use sar::formats::dgl::config::PartitionConfig;

use super::as_they_are::tables;
use super::columns::{refused, sar};
use super::support::{lines, scattered, write};

/// The values of a table of a graph in one partition.
fn table(folder: &Path, words: &str, key: &str) -> Vec<f64> {
    let tables = tables(folder, words);
    let found = tables.iter().find(|(name, _)| name.starts_with(key));
    found.unwrap_or_else(|| panic!("no {key} in {tables:?}")).1.clone()
}

fn count(values: &[f64]) -> usize {
    values.iter().filter(|value| **value > 0.5).count()
}

#[test]
fn random_shares_are_exact_and_follow_the_seed() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "edges.txt", &scattered(200, 600));
    let words = "--edges edges.txt --num-nodes 200 --split random:0.6,0.2,0.1";
    let masks: Vec<Vec<f64>> = ["train", "val", "test"]
        .map(|name| table(folder.path(), words, &format!("_N/{name}_mask")))
        .into();
    assert_eq!(masks.iter().map(|mask| count(mask)).collect::<Vec<_>>(), [120, 40, 20]);
    assert!((0..200).all(|node| masks.iter().map(|mask| mask[node]).sum::<f64>() <= 1.0));
    let train =
        |seed: u64| table(folder.path(), &format!("{words} --seed {seed}"), "_N/train_mask");
    assert_eq!(train(0), masks[0]);
    assert_ne!(train(1), masks[0]);
}

#[test]
fn nodes_without_a_label_are_in_no_mask() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "edges.txt", &scattered(100, 300));
    write(
        folder.path(),
        "label.txt",
        &lines((0..100).map(|node| if node % 5 == 0 { node % 3 } else { -1 })),
    );
    let words = "--edges edges.txt --node-data label=label.txt --split random:0.5,0.25,0.25";
    let train = table(folder.path(), words, "_N/train_mask");
    assert_eq!(count(&train), 10);
    assert!(train.iter().enumerate().all(|(node, value)| *value == 0.0 || node % 5 == 0));
}

#[test]
fn both_directions_of_an_edge_are_in_one_mask() {
    let folder = tempfile::tempdir().unwrap();
    let pairs = (0..100).flat_map(|node| [(node, (node + 7) % 100), ((node + 7) % 100, node)]);
    write(folder.path(), "edges.txt", &lines(pairs.map(|(from, to)| format!("{from} {to}"))));
    let words = "--edges edges.txt --split _N:_E:_N=random:0.8,0.1,0.1";
    let said = "edges of type _N:_E:_N are split at random: train_mask has 160, val_mask has 20, test_mask has 20";
    sar(folder.path(), &format!("{words} --num-parts 1 --out out"))
        .success()
        .stderr(contains(said));
    let config = PartitionConfig::open(&folder.path().join("out/g.json")).unwrap();
    let partition = Partition::open(&config, 0).unwrap();
    let masks = partition.edge_features().features();
    let test = masks.iter().find(|mask| mask.name() == "test_mask").unwrap().array();
    let mut values = vec![0.0; 200];
    test.read_f64(0..200, &mut values).unwrap();
    let (mut reader, mut block) = (partition.edges(200).unwrap(), Vec::new());
    assert!(reader.next_block(&mut block).unwrap());
    let tested: Vec<(u64, u64)> =
        block.iter().zip(values).filter(|(_, v)| *v > 0.5).map(|(e, _)| (e.src, e.dst)).collect();
    assert_eq!(tested.len(), 20);
    assert!(tested.iter().all(|(from, to)| tested.contains(&(*to, *from))));
}

#[test]
fn a_column_of_a_table_orders_its_nodes_and_is_no_feature() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let years =
        ["2017", "2019", "2018", "2017", "", "2019", "2017", "2018", "2017", "2017", "2017"];
    let rows =
        years.iter().enumerate().map(|(node, year)| format!("n{node},{year},{}", node * node));
    write(path, "nodes.csv", &format!("name,year,x\n{}", lines(rows)));
    write(path, "edges.csv", "from,to\nn0,n1\nn2,n3\n");
    let words = "--edges edges.csv --node-table nodes.csv --id name --split-by year:0.6,0.2,0.2";
    assert_eq!(table(path, words, "_N/train_mask"), years.map(|year| f64::from(year == "2017")));
    assert_eq!(table(path, words, "_N/val_mask"), years.map(|year| f64::from(year == "2018")));
    assert_eq!(table(path, words, "_N/test_mask"), years.map(|year| f64::from(year == "2019")));
    assert_eq!(table(path, words, "_N/feat").len(), years.len());
    let misspelt = words.replace("year:", "yeer:") + " --fill-missing 0";
    refused(path, &misspelt, "edges.csv: has no column \"yeer\"").stderr(contains(
        "did you mean year? its columns are from, to; those of nodes are year, x",
    ));
    write(path, "rows.txt", "0 1\n");
    write(path, "year.txt", "2019\n2020\n");
    refused(path, "--edges rows.txt --node-data year=year.txt --split-by yeer", "has no column")
        .stderr(contains("did you mean year? its columns have no names"))
        .stderr(contains("; those of nodes are year").and(contains("edge-columns").not()));
    refused(path, &words.replace("year:", "name:"), "which has another use");
}

#[test]
fn edges_are_split_by_time_over_all_relations() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let days = (1..=20).map(|day| format!("a{day},{},b,2024-01-{day:02}", ["r", "s"][day % 2]));
    write(path, "kg.csv", &format!("head,rel,tail,day\n{}", lines(days)));
    let words =
        "--edges kg.csv --relation-column rel --node-ids string --split-by day:0.5,0.25,0.25";
    for (mask, due) in [("train", 5), ("val", 3), ("test", 2)] {
        assert_eq!(count(&table(path, words, &format!("_N:s:_N/{mask}_mask"))), due, "{mask}");
    }
    write(path, "plain.txt", &lines((0..10).map(|at| format!("{at} {} {}", at + 1, 100 - at))));
    let words = "--edges plain.txt --split-by time --undirected";
    assert_eq!(count(&table(path, words, "_N:_E:_N/train_mask")), 16);
    assert_eq!(count(&table(path, words, "_N:_E:_N/test_mask")), 2);
}

#[test]
fn splits_that_make_no_sense_are_refused_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "edges.txt", "0 1\n1 2\n2 3\n");
    write(folder.path(), "year.txt", "2020\n2020\n2020\n2020\n");
    write(folder.path(), "train.txt", "0\n");
    for (words, due) in [
        ("--split random:0.6,0.2", "three shares"),
        ("--split random:0.6,0.3,0.2", "sum is above 1"),
        ("--split random:0.9,0.05,0.05", "leaves val_mask empty"),
        ("--split paper=random:0.6,0.2,0.2", "no edge joins nodes of type \"paper\""),
        ("--split _N:r:_N=random:0.6,0.2,0.2", "no edges of type _N:r:_N"),
        ("--node-data year=year.txt --split-by year", "equal values of year stay together"),
        ("--split random:0.5,0.25,0.25 --split train=train.txt", "makes train_mask"),
        ("--split random:0.5,0.25,0.25 --split random:0.5,0.25,0.25", "makes train_mask"),
    ] {
        refused(folder.path(), &format!("--edges edges.txt {words}"), due);
    }
    write(folder.path(), "typed.txt", "0 1\n");
    let words = "--edges a:r:b=typed.txt --edges b:s:a=typed.txt --split random:0.5,0.5,0";
    refused(folder.path(), words, "name one: --split TYPE=random:TRAIN,VAL,TEST");
    let words = "--edges paper:cites:paper=edges.txt --split-by papre=year:0.5,0.5,0";
    refused(folder.path(), words, "the graph has no nodes of type papre")
        .stderr(contains("did you mean --split-by paper=year?"));
}

//! Guards against: values of lists that go to wrong columns, nodes in the wrong mask, and names that are lost.

use std::fs::read_to_string;
use std::path::Path;

use parquet::data_type::{FloatType, Int64Type};
use predicates::str::contains;

use super::columns::{refused, sar};
use super::formats::content;
use super::support::{lines, parquet_column, parquet_file, write};

/// Three nodes with ids and lists of numbers; an empty list is missing.
fn write_lists(path: &Path, lists: &[&[f32]]) {
    let schema = "message m { required int64 id; optional group emb (LIST) { repeated group list { \
                  optional float element; } } required int64 age; }";
    let ids: Vec<i64> = (0..lists.len() as i64).map(|i| 10 + i).collect();
    let values: Vec<f32> = lists.concat();
    let (mut levels, mut repeats) = (Vec::new(), Vec::new());
    for list in lists {
        if list.is_empty() {
            levels.push(0);
            repeats.push(0);
        }
        for at in 0..list.len() {
            levels.push(3);
            repeats.push(i16::from(at > 0));
        }
    }
    parquet_file(path, schema, |rows| {
        parquet_column::<Int64Type>(rows, &ids, None, None);
        parquet_column::<FloatType>(rows, &values, Some(&levels), Some(&repeats));
        parquet_column::<Int64Type>(rows, &ids, None, None);
    });
}

#[test]
fn lists_become_columns() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "edges.csv", "10,11\n11,12\n12,10\n");
    let path = here.join("nodes.parquet");
    write_lists(&path, &[&[1.0, 2.5], &[3.0, 4.0], &[5.0, -6.0]]);
    let words = "--edges edges.csv --node-table nodes.parquet --id id --scale none";
    sar(here, &format!("{words} --num-parts 1 --out out"))
        .success()
        .stderr(contains("feat has 3 columns (emb[0], emb[1], age)"));
    let (_, tables) = content(&here.join("out/g.json"), 0);
    let due = vec![1.0, 2.5, 10.0, 3.0, 4.0, 11.0, 5.0, -6.0, 12.0];
    assert_eq!(tables, [("_N/feat float32 [3]".to_owned(), due)]);
    sar(here, &format!("{words} --drop emb --num-parts 1 --out age"))
        .success()
        .stderr(contains("feat has 1 column (age); left out: emb"));
    write_lists(&path, &[&[1.0, 2.0], &[], &[5.0, 6.0]]);
    let due = "nodes.parquet: row 1: column emb[0]: the value is missing";
    refused(here, words, due).stderr(contains("--fill-missing mean"));
    sar(here, &format!("{words} --fill-missing mean --num-parts 1 --out mean")).success();
    let (_, tables) = content(&here.join("mean/g.json"), 0);
    assert_eq!(tables[0].1[3..5], [3.0, 4.0]);
    write_lists(&path, &[&[1.0, 2.0], &[3.0, 4.0], &[5.0]]);
    let due = "nodes.parquet: row 2: column emb: a list of 1, but the first list has 2";
    refused(here, words, due);
}

#[test]
fn a_column_names_the_masks() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "edges.csv", "a,b\nb,c\nc,d\n");
    let table = |values: [&str; 4]| {
        let rows = ["a", "b", "c", "d"].iter().zip(values).enumerate();
        let rows = lines(rows.map(|(i, (name, value))| format!("{name},{i},{value}")));
        write(here, "nodes.csv", &format!("name,x,part\n{rows}"));
    };
    let words = "--edges edges.csv --node-table nodes.csv --id name --split part --scale none";
    table(["train", "Validation", "", "train"]);
    sar(here, &format!("{words} --num-parts 1 --out out"))
        .success()
        .stderr(contains("feat has 1 column (x); mask train_mask; mask val_mask; text"));
    let (_, tables) = content(&here.join("out/g.json"), 0);
    let mask = |name: &str, values: [f64; 4]| (format!("_N/{name} uint8 []"), values.to_vec());
    let due = [mask("train_mask", [1.0, 0.0, 0.0, 1.0]), mask("val_mask", [0.0, 1.0, 0.0, 0.0])];
    assert_eq!(tables[1..], due);
    table(["train", "tset", "test", "val"]);
    let due = "nodes.csv: column part: \"tset\" does not name a mask";
    refused(here, words, due).stderr(contains("train, val and test"));
    refused(here, &words.replace("part", "prt"), "has no column \"prt\"");
    write(here, "nodes.csv", "name,part,val_mask\na,train,0\nb,train,1\nc,test,0\nd,,1\n");
    sar(here, &format!("{words} --num-parts 1 --out none"))
        .code(1)
        .stderr(contains("the table also has a column val_mask"));
}

#[test]
fn names_stay_when_a_directory_is_cut_again() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let edges = lines((0..40).map(|i| format!("n{},n{}", i % 13, (i * 5 + 1) % 13)));
    write(here, "edges.csv", &edges);
    sar(here, "--edges edges.csv --node-ids string --num-parts 2 --out two").success();
    sar(here, "--part-json two/g.json --num-parts 3 --out three").success();
    sar(here, "--part-json three/g.json --num-parts 1 --out one").success();
    let names = |out: &str| read_to_string(here.join(out).join("node_names/_N.txt")).unwrap();
    assert_eq!(names("three"), names("two"));
    assert_eq!(names("one"), names("two"));
}

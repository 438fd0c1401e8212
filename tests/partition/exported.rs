//! Guards against: a data set of GraphBolt that is another graph than the partitions it was made of, and files that an export
//! that fails leaves behind.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use assert_cmd::assert::Assert;
use predicates::str::contains;
use sar::io::Dtype;
use sar::prepare::export::write_data_set;

use super::archives::array;
use super::columns::sar;
use super::common::{assert_stops, files, repository};
use super::formats::content;
use super::program::Program;
use super::support::{lines, scattered, write};

const MEMORY: u64 = 4 << 30;

fn export(folder: &Path, words: &str) -> Assert {
    Program::new().current_dir(folder).arg("export").args(words.split(' ')).assert()
}

/// The files of a graph in one partition, except for the numbers that its edges had.
fn whole(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let all = files(folder).into_iter();
    all.filter(|(name, _)| !name.ends_with("orig_eids.dgl")).collect()
}

/// Cuts the graph into three parts, exports it, and imports it again in one part, as which it must be the same as without
/// the detour.
fn goes_there_and_back(here: &Path, words: &str) {
    sar(here, &format!("{words} --num-parts 1 --out straight")).success();
    sar(here, &format!("{words} --num-parts 3 --out parts")).success();
    export(here, "parts/g.json --out set").success().stdout("set\n");
    sar(here, "--chunked set/metadata.yaml --num-parts 1 --out back").success();
    let (due, found) = (whole(&here.join("straight")), whole(&here.join("back")));
    let names = |files: &[(String, Vec<u8>)]| {
        files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&found), names(&due));
    for (found, due) in found.iter().zip(&due) {
        assert!(found == due, "{} differs", due.0);
    }
}

#[test]
fn a_graph_is_the_same_after_export_and_import() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.txt", &scattered(300, 2000));
    let rows = |row: &dyn Fn(u64) -> String| lines((0..300).map(row));
    write(here, "feat.csv", &rows(&|i| format!("{}.5,{},-1e3", i, i % 7)));
    write(here, "label.csv", &rows(&|i| (i % 5).to_string()));
    write(here, "year.csv", &rows(&|i| (1900 + i).to_string()));
    write(here, "w.csv", &lines((0..2000).map(|i| format!("{i}.25"))));
    for (split, step) in [("train", 0), ("val", 1), ("test", 2)] {
        write(here, split, &lines((0..300).filter(|i| i % 4 == step)));
    }
    goes_there_and_back(
        here,
        "--edges e.txt --num-nodes 300 --node-data feat=feat.csv --node-data label=label.csv --node-data year=year.csv \
         --edge-data w=w.csv --split train=train --split val=val --split test=test",
    );
    let text = fs::read_to_string(here.join("set/metadata.yaml")).unwrap();
    assert!(text.contains("\"num_classes\": 5") && !text.contains("\"type\""), "{text}");
}

/// Types without edges, without nodes in a mask, and with characters that files cannot have; labels of two types.
#[test]
fn types_and_their_data_stay() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "w.txt", &scattered(60, 500));
    write(here, "c.txt", &lines((0..60).map(|i| format!("{i} {}", i * 7 % 60))));
    fs::write(here.join("none.npy"), array(Dtype::I64, &[2, 0], &[])).unwrap();
    write(here, "x.csv", &lines((0..60).map(|i| format!("{i},2"))));
    write(here, "y.csv", &lines((0..60).map(|i| i % 3)));
    write(here, "value.csv", &lines((0..60).map(|i| format!("{i}.5"))));
    let mask = array(Dtype::U8, &[60], &[1, 0, 0].repeat(20));
    fs::write(here.join("mask.npy"), mask).unwrap();
    fs::write(here.join("no.npy"), array(Dtype::U8, &[60], &[0; 60])).unwrap();
    write(here, "t.csv", &lines(0..500));
    write(here, "edge_mask.csv", &lines((0..500).map(|i| u8::from(i % 3 == 0))));
    goes_there_and_back(
        here,
        "--edges a/b:writes:paper=w.txt --edges paper:cites:paper=c.txt --edges yes:is:paper=none.npy --num-nodes yes=60 \
         --num-nodes a/b=60 --node-data a/b/x=x.csv --node-data paper/label=y.csv --node-data a/b/label=value.csv \
         --node-data paper/train_mask=mask.npy --node-data paper/test_mask=no.npy --node-data a/b/val_mask=mask.npy \
         --edge-data a/b:writes:paper/time=t.csv --edge-data a/b:writes:paper/train_mask=edge_mask.csv",
    );
}

/// Some edges are parallel to others that are in another mask.
#[test]
fn one_type_with_or_without_a_name_keeps_it_and_the_masks_of_edges() {
    for ty in ["", "paper:cites:paper"] {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        write(here, "e.txt", &scattered(40, 200));
        write(here, "train.csv", &lines((0..200).map(|i| u8::from(i % 2 == 0))));
        write(here, "test.csv", &lines((0..200).map(|i| u8::from(i % 2 == 1))));
        let (edges, data) = match ty {
            "" => (String::new(), String::new()),
            ty => (format!("{ty}="), format!("{ty}/")),
        };
        let masks = ["train", "test"];
        let masks = masks.map(|mask| format!("--edge-data {data}{mask}_mask={mask}.csv"));
        goes_there_and_back(here, &format!("--edges {edges}e.txt {}", masks.join(" ")));
        let text = fs::read_to_string(here.join("set/metadata.yaml")).unwrap();
        assert!(
            text.contains("link_prediction") && text.contains("cites") != ty.is_empty(),
            "{text}"
        );
    }
}

/// A list of all nodes of a type with one or two nodes could be a mask.
#[test]
fn a_type_of_one_node_stays() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.txt", "0 0\n1 0\n2 0\n3 0\n");
    fs::write(here.join("mask.npy"), array(Dtype::U8, &[1], &[1])).unwrap();
    let words = "--edges paper:in:venue=e.txt --node-data venue/train_mask=mask.npy --num-parts 1";
    sar(here, &format!("{words} --out parts")).success();
    export(here, "parts/g.json --out set").success();
    sar(here, "--chunked set/metadata.yaml --num-parts 1 --out back").success();
    assert_eq!(whole(&here.join("back")), whole(&here.join("parts")));
}

/// Torch has no wide unsigned integers.
#[test]
fn numbers_that_torch_lacks_become_wider() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.txt", "0 1\n1 2\n2 0\n");
    for (name, dtype, values) in [("u2", Dtype::U16, [1, 2, 65_535]), ("u8", Dtype::U64, [-1; 3])] {
        fs::write(here.join(name), array(dtype, &[3], &values)).unwrap();
    }
    sar(here, "--edges e.txt --node-data x=u2 --num-parts 2 --out parts").success();
    export(here, "parts/g.json --out set").success();
    sar(here, "--chunked set/metadata.yaml --num-parts 1 --out back").success();
    let (_, tables) = content(&here.join("back/g.json"), 0);
    assert_eq!(tables, [("_N/x int64 []".to_owned(), vec![1.0, 2.0, 65535.0])]);
    sar(here, "--edges e.txt --node-data x=u8 --num-parts 1 --out large").success();
    let refused = export(here, "large/g.json --out none").code(1);
    refused.stderr(contains("row 0 holds a number that is too large for int64"));
    assert!(!here.join("none").exists());
}

#[test]
fn ids_that_do_not_number_the_nodes_become_a_feature() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.txt", "0 1\n1 2\n2 0\n");
    sar(here, "--edges e.txt --num-parts 1 --out parts").success();
    let ids = here.join("parts/part0/orig_nids.dgl");
    let (file, end) =
        (fs::File::options().write(true).open(&ids), fs::metadata(&ids).unwrap().len());
    file.unwrap().write_all_at(&5000_u64.to_le_bytes(), end - 8).unwrap();
    let note =
        "_N: original ids do not number the nodes from 0, and become the feature original_id";
    export(here, "parts/g.json --out set").success().stderr(contains(note));
    sar(here, "--chunked set/metadata.yaml --num-parts 1 --out back").success();
    let (edges, tables) = content(&here.join("back/g.json"), 0);
    assert_eq!(edges, [(0, 1, 0), (1, 2, 0), (2, 0, 0)]);
    assert_eq!(tables, [("_N/original_id int64 []".to_owned(), vec![0.0, 1.0, 5000.0])]);
}

#[test]
fn names_that_are_left_out_are_mentioned() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.csv", "a,b\nb,c\n");
    sar(here, "--edges e.csv --node-ids string --num-parts 1 --out parts").success();
    let note = "note: names of nodes or classes are left out";
    export(here, "parts/g.json --out set").success().stderr(contains(note));
}

#[test]
fn an_export_that_fails_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.txt", &scattered(3000, 30_000));
    write(here, "x.csv", &lines((0..3000).map(|i| format!("{i},{i},{i}"))));
    let words = "--edges e.txt --node-data x=x.csv --num-parts 3";
    sar(here, &format!("{words} --out parts")).success();
    let entries = || here.read_dir().unwrap().count();
    let (json, before) = (here.join("parts/g.json"), entries());
    assert_stops(here, 5, |out, tick| {
        write_data_set(&json, out, MEMORY, &mut |_| tick()).map(drop)
    });
    let full = export(here, "parts/g.json --out whole").code(1);
    full.stderr(contains("whole is not empty: it holds "));
    export(here, "parts/g.json --out e.txt").code(1).stderr(contains("e.txt is not a folder"));
    let little = export(here, "parts/g.json --out none --memory 1MiB").code(1);
    little.stderr(contains("is too little for this graph"));
    // The largest file that may be written is shorter than the edges.
    let limited = Command::new("sh")
        .args(["-c", "ulimit -f 300; exec \"$0\" export parts/g.json --out none"])
        .arg(env!("CARGO_BIN_EXE_sar-single"))
        .current_dir(here)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&limited.stderr);
    assert!(!limited.status.success() && text.contains("error: "), "{text}");
    fs::remove_file(here.join("parts/part1/node_feat.dgl")).unwrap();
    export(here, "parts/g.json --out none").code(1).stderr(contains("node_feat.dgl"));
    fs::remove_dir_all(here.join("parts/part0")).unwrap();
    export(here, "parts/g.json --out none").code(1).stderr(contains("part0"));
    assert_eq!(entries(), before + 1);
}

#[test]
fn a_directory_of_dgl_is_exported() {
    let folder = tempfile::tempdir().unwrap();
    let karate = repository("data/karate/karate.json");
    export(folder.path(), &format!("{} --out set", karate.display())).success();
    sar(folder.path(), "--chunked set/metadata.yaml --num-parts 1 --out back").success();
    let (edges, tables) = content(&folder.path().join("back/g.json"), 0);
    assert_eq!(edges.len(), 190);
    let labels = tables.iter().filter(|(key, _)| key.contains("label"));
    assert_eq!(labels.map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["_N/labels int64 []"]);
}

//! `train`: from files to a trained model in one command.

use std::fmt::Write;
use std::path::Path;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

fn sar(folder: &Path, words: &str) -> Assert {
    // The program starts itself again.
    let mut command = Command::cargo_bin("sar-single").unwrap();
    command.current_dir(folder).env("TMPDIR", folder).args(words.split_whitespace()).assert()
}

/// A hundred users, whose class their size tells, and their edges.
fn write_files(folder: &Path) {
    let mut users = "id,size,class\n".to_owned();
    let mut edges = "fan,star\n".to_owned();
    for i in 0..100 {
        let size = i % 10;
        let class = if size < 5 { "small" } else { "large" };
        writeln!(users, "u{i},{size},{class}").unwrap();
        for step in [10, 30] {
            writeln!(edges, "u{i},u{}", (i + step) % 100).unwrap();
        }
    }
    std::fs::write(folder.join("users.csv"), users).unwrap();
    std::fs::write(folder.join("follows.v2.csv"), edges).unwrap();
}

fn weights(run: &Path) -> Vec<u8> {
    let bytes = std::fs::read(run.join("model.safetensors")).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let mut tensors = file.tensors();
    tensors.sort_by(|a, b| a.0.cmp(&b.0));
    tensors.iter().flat_map(|(_, tensor)| tensor.data().to_vec()).collect()
}

const FILES: &str = "follows.v2.csv --node-table users.csv --label class --undirected";
const RUN: &str = "--layers 2 --hidden 8 --epochs 30";

#[test]
fn a_graph_is_cut_and_trained_on_as_by_two_commands() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write_files(here);
    let trained = sar(here, &format!("train {FILES} --num-parts 2 {RUN}")).success();
    let again = "sar-single --part-json graphs/follows-1/follows.json";
    let trained = trained.stderr(contains("small").and(contains(again)));
    let trained = trained.stderr(contains("next: sar-single predict --run runs/follows-1"));
    let printed = String::from_utf8(trained.get_output().stdout.clone()).unwrap();
    let printed: Vec<&str> = printed.lines().collect();
    assert_eq!(printed.len(), 2, "{printed:?}");
    assert!(printed[0].ends_with("graphs/follows-1/follows.json"), "{printed:?}");
    assert!(printed[1].ends_with("runs/follows-1"), "{printed:?}");

    let cut = "--split random:0.8,0.1,0.1 --num-parts 2 --name follows --out cut";
    sar(here, &format!("partition --edges {FILES} {cut}")).success();
    sar(here, &format!("--part-json cut/follows.json {RUN} --out run")).success();
    assert_eq!(weights(&here.join("runs/follows-1")), weights(&here.join("run")));

    // The next graph has the next number; the number of partitions is chosen for the run.
    let chosen = format!("train {FILES} {RUN} --memory-budget 1GiB --out second");
    sar(here, &chosen).success().stderr(contains("--num-parts auto: 1 partition"));
    assert!(here.join("graphs/follows-2/follows.json").exists());
    assert!(here.join("second/model.safetensors").exists());
}

#[test]
fn masks_come_from_the_table_or_from_the_split_that_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write_files(here);
    let users = std::fs::read_to_string(here.join("users.csv")).unwrap();
    let marked = users.lines().enumerate().map(|(i, line)| match i {
        0 => format!("{line},train_mask\n"),
        _ => format!("{line},{}\n", u8::from(i % 4 == 1)),
    });
    std::fs::write(here.join("users.csv"), marked.collect::<String>()).unwrap();
    let masks = |words: &str, count: &str| {
        let json = sar(here, &format!("train {FILES} --num-parts 1 {RUN} {words}")).success();
        let printed = String::from_utf8(json.get_output().stdout.clone()).unwrap();
        let json = printed.lines().next().unwrap().to_owned();
        sar(here, &format!("inspect {json} --statistics")).success().stdout(contains(count));
    };
    masks("", "25");
    masks("--drop train_mask --split random:0.7,0.1,0.2", "70");
}

#[test]
fn edges_are_predicted_with_a_split_of_edges() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write_files(here);
    let link = "--task link --split val=10%,test=20% --epochs 1 --hidden 8 --layers 2";
    sar(here, &format!("train follows.v2.csv --node-ids string {link}"))
        .success()
        .stderr(contains("next: sar-single predict --run runs/follows-1 --top-k"));
    let config = std::fs::read_to_string(here.join("runs/follows-1/config.toml")).unwrap();
    assert!(config.contains("val = 0.1\ntest = 0.2"), "{config}");
}

#[test]
fn what_is_wrong_is_said_before_the_graph_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write_files(here);
    let refused = |words: &str, code: i32, why: &str| {
        sar(here, &format!("train {words}")).code(code).stderr(contains(why));
        assert!(!here.join("graphs").exists(), "{words}");
    };
    refused(&format!("{FILES} --epochs many"), 2, "invalid value 'many' for '--epochs <N>'");
    refused(&format!("{FILES} --scale twice"), 2, "invalid value 'twice' for '--scale <SCALE>'");
    refused(&format!("{FILES} --heads 2"), 1, "--heads has no effect with --model sage");
    refused("", 2, "[SRC:REL:DST=]FILE");
    refused("follows.v2.csv --node-table no.csv --label class", 1, "no.csv");
    sar(here, "generate --nodes 30 --edges 90 --num-parts 1 --out g").success();
    refused("g/g.json", 1, "sar-single --part-json g/g.json");
}

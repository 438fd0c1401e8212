//! Wrong usage: one clear message, the right exit code, the remedy named.

use std::path::Path;

use predicates::str::{contains, starts_with};

use super::common::repository;
use super::program::{Program, sar};

fn on_karate() -> Program {
    let folder = tempfile::tempdir().unwrap().keep();
    let mut command = Program::new();
    command.arg("--part-json").arg(repository("data/karate/karate.json"));
    command.arg("--out").arg(folder.join("out")).arg("--spill-dir").arg(folder.join("spill"));
    command
}

#[test]
fn a_world_size_unlike_the_partitions_says_what_to_pass() {
    on_karate()
        .args(["--world-size", "3"])
        .assert()
        .code(1)
        .stderr(starts_with("error: --world-size: is 3, but the graph is cut into 2 partitions\n"))
        .stderr(contains("hint: pass --world-size 2"));
}

#[test]
fn a_key_that_is_not_there_lists_those_that_are() {
    on_karate()
        .args(["--features-key", "nope"])
        .assert()
        .code(1)
        .stderr(contains("node_feat.dgl: nope: "))
        .stderr(contains("_N/features"));
    on_karate()
        .args(["--edge-weight-key", "wait"])
        .assert()
        .code(1)
        .stderr(contains("_N:_E:_N/weight"));
    on_karate().args(["--train-mask-key", "mask"]).assert().code(1).stderr(contains("several"));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("e.txt"), "0 1\n1 2\n").unwrap();
    sar(folder.path(), "partition e.txt --num-parts 1 --name g --out a").success();
    sar(folder.path(), "--part-json a/g.json --epochs 1")
        .code(1)
        .stderr(contains("hint: the graph has no node data: add node features with --node-data "));
    std::fs::write(folder.path().join("y.txt"), "0\n1\n0\n").unwrap();
    let data = "--node-data label=y.txt --node-data year=y.txt --num-parts 1 --name g --out b";
    sar(folder.path(), &format!("partition e.txt {data}")).success();
    sar(folder.path(), "--part-json b/g.json --epochs 1").code(1).stderr(contains(
        "the file holds: _N/year; or learn a row for every node with --hetero sum",
    ));
}

#[test]
fn a_missing_file_is_named() {
    Program::new()
        .args(["--part-json", "nowhere/g.json"])
        .assert()
        .code(1)
        .stderr(contains("nowhere/g.json"));
    on_karate()
        .args(["--init-params", "nowhere.safetensors"])
        .assert()
        .code(1)
        .stderr(contains("nowhere.safetensors"));
}

#[test]
fn values_that_make_no_sense_name_their_flag() {
    for (flag, value) in [
        ("--layers", "0"),
        ("--hidden", "0"),
        ("--epochs", "0"),
        ("--resident", "0"),
        ("--threads", "0"),
        ("--dropout", "1.5"),
        ("--lr", "-1"),
        ("--weight-decay", "nan"),
    ] {
        let refused = on_karate().args([flag, value]).assert().code(1);
        refused.stderr(starts_with(format!("error: {flag}: must be ")));
    }
}

#[test]
fn values_that_are_not_numbers_or_sizes_say_so() {
    for (flags, problem) in [
        (["--hidden", "1e3"], "'--hidden <N>': is not a whole number in digits, such as 1000\n"),
        (["--layers", "-3"], "'--layers <N>': must not be negative\n"),
        (["--lr", "abc"], "'--lr <RATE>': is not a number\n"),
        (["--memory-budget", "3XB"], "'--memory-budget <SIZE>': has an unknown unit: write KiB"),
    ] {
        on_karate().args(flags).assert().code(2).stderr(contains(problem));
    }
    let endurance = Program::new().args(["plan", "--disk-endurance", "300"]).assert().code(2);
    endurance.stderr(contains("needs a unit, such as 300TB"));
}

#[test]
fn a_word_after_a_switch_is_not_called_a_command() {
    let refused = on_karate().args(["--residual", "true"]).assert().code(2);
    refused
        .stderr(starts_with("error: unexpected argument 'true' found\n"))
        .stderr(contains("tip: --residual takes no value"));
}

#[test]
fn an_unknown_flag_or_value_is_a_usage_error() {
    on_karate().arg("--epoch").assert().code(2).stderr(contains("--epochs"));
    on_karate()
        .args(["--model", "mlp"])
        .assert()
        .code(2)
        .stderr(contains("possible values: sage, gcn"));
    Program::new().arg("train").assert().code(2);
    Program::new().arg("status").assert().code(2).stderr(contains("sar-single status --all"));
}

#[test]
fn without_anything_the_way_on_is_shown() {
    Program::new().assert().code(2).stderr(starts_with("sar-single trains"));
    Program::new().arg("--help").assert().success().stdout(contains("--part-json <FILE>"));
    Program::new().arg("--version").assert().success().stdout(starts_with("sar-single "));
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let folder = Path::new(file.path()).join("folder");
    for flag in ["--out", "--spill-dir"] {
        let refused = on_karate().arg(flag).arg(&folder).assert().code(1);
        refused.stderr(contains(folder.to_str().unwrap())).stderr(contains(flag));
    }
}

#[test]
fn a_command_that_does_not_exist_names_the_one_that_was_meant() {
    let karate = repository("data/karate/karate.json");
    let meant = format!("sar-single --part-json {}", karate.display());
    for (word, tip) in [("fit", "sar-single --part-json FILE"), (karate.to_str().unwrap(), &meant)]
    {
        Program::new()
            .args([word, "--epochs", "3"])
            .assert()
            .code(2)
            .stderr(contains("unrecognized subcommand"))
            .stderr(contains(tip));
    }
}

//! Wrong usage: one clear message, the right exit code, the remedy named.

use std::path::Path;

use predicates::str::{contains, starts_with};

use super::common::repository;
use super::program::Program;

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
fn an_unknown_flag_or_value_is_a_usage_error() {
    on_karate().arg("--epoch").assert().code(2).stderr(contains("--epochs"));
    on_karate()
        .args(["--model", "mlp"])
        .assert()
        .code(2)
        .stderr(contains("possible values: sage, gcn"));
    Program::new().arg("train").assert().code(2);
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

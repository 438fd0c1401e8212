//! Guards against: a command that says too much or too little, or ends with the wrong exit code.

use assert_cmd::cargo::cargo_bin_cmd;
use predicates::prelude::*;
use predicates::str::{contains, diff, is_match};

#[test]
fn the_path_of_the_json_file_is_all_that_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("made/here");
    let json = out.join("demo.json");
    let summary = r"^generated demo: 2000 nodes, 20000 edges, 1 partition, 0\.0 % of the edges cut, \d+ KiB written in \d+\.\d s\n$";
    cargo_bin_cmd!("sar-single")
        .args(["generate", "--name", "demo", "--num-parts", "1", "--out"])
        .arg(&out)
        .assert()
        .success()
        .stdout(diff(format!("{}\n", json.display())))
        .stderr(is_match(summary).unwrap());
    assert!(json.exists());
}

#[test]
fn bad_values_are_errors_with_a_hint_and_exit_code_1() {
    let folder = tempfile::tempdir().unwrap();
    cargo_bin_cmd!("sar-single")
        .current_dir(folder.path())
        .args(["generate", "--nodes", "3", "--out", "x"])
        .assert()
        .code(1)
        .stdout(predicates::str::is_empty())
        .stderr(contains("error: --classes: is 5, but 3 nodes").and(contains("  hint: pass --")));
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[test]
fn out_must_be_given() {
    cargo_bin_cmd!("sar-single").arg("generate").assert().code(2).stderr(contains("--out"));
}

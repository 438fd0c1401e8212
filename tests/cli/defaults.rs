//! The results for a user who names only the graph.

use std::process::Stdio;

use assert_cmd::Command;
use predicates::str::contains;

use super::common::{metrics, repository};
use super::program::sar;

#[test]
fn results_go_to_a_new_folder_each_time() {
    let folder = tempfile::tempdir().unwrap();
    for number in 1..=2 {
        let output = Command::cargo_bin("sar-single")
            .unwrap()
            .current_dir(folder.path())
            .env("TMPDIR", folder.path().join("tmp"))
            .arg("--part-json")
            .arg(repository("data/karate/karate.json"))
            .args(["--epochs", "2"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let run = folder.path().join(format!("runs/karate-{number}"));
        let told = String::from_utf8(output.stdout).unwrap();
        assert_eq!(
            std::fs::canonicalize(told.trim()).unwrap(),
            std::fs::canonicalize(&run).unwrap()
        );
        for file in ["config.toml", "metrics.jsonl", "model.safetensors"] {
            assert!(run.join(file).is_file(), "{file}");
        }
    }
}

#[test]
fn commands_that_start_at_the_same_time_get_folders_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("e.csv"), "0,1\n1,2\n").unwrap();
    let karate =
        format!("--part-json {} --epochs 1", repository("data/karate/karate.json").display());
    for (words, written) in [
        ("partition e.csv --num-parts 1", "graphs/e-N/e.json"),
        (karate.as_str(), "runs/karate-N/model.safetensors"),
    ] {
        let start = |_| {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sar-single"));
            command.current_dir(folder.path()).env("TMPDIR", folder.path());
            command.args(words.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::piped());
            command.spawn().unwrap()
        };
        let started: Vec<_> = (0..4).map(start).collect();
        for child in started {
            let ended = child.wait_with_output().unwrap();
            assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        }
        for number in 1..=4 {
            let path = written.replace('N', &number.to_string());
            assert!(folder.path().join(&path).is_file(), "{path}");
        }
    }
}

#[test]
fn a_budget_of_a_larger_machine_is_replaced_by_half_of_the_free_memory() {
    let folder = tempfile::tempdir().unwrap();
    let sar = |words: &str| sar(folder.path(), words).success();
    let karate = repository("data/karate/karate.json");
    let run = "--epochs 1 --checkpoint-every 1 --spill-dir . --out run";
    sar(&format!("--part-json {} {run}", karate.display()));
    let path = folder.path().join("run/config.toml");
    let config = std::fs::read_to_string(&path).unwrap();
    let budget = |line: &&str| line.starts_with("memory_budget = ");
    let frozen = config.lines().find(budget).unwrap();
    let larger = format!("memory_budget = \"{}\"", 900_u64 << 40);
    std::fs::write(&path, config.replace(frozen, &larger)).unwrap();
    let replaced = "the run's memory budget is 900 TiB, but ";
    sar("predict --run run --out x.csv").stderr(contains(replaced));
    let given = "predict --run run --out y.csv --memory-budget 900TiB";
    sar(given).stderr(contains("note: the memory budget is 900 TiB, but "));
    sar("--resume run --epochs 2").stderr(contains(replaced));
    let config = std::fs::read_to_string(&path).unwrap();
    let bytes = config.lines().find(budget).unwrap().split('"').nth(1).unwrap();
    assert!(bytes.parse::<u64>().unwrap() < 450 << 40, "{bytes}");
}

#[test]
fn the_karate_club_is_learned() {
    let folder = tempfile::tempdir().unwrap();
    Command::cargo_bin("sar-single")
        .unwrap()
        .arg("--part-json")
        .arg(repository("data/karate/karate.json"))
        .args(["--epochs", "60", "--layers", "2", "--hidden", "16"])
        .arg("--out")
        .arg(folder.path())
        .arg("--spill-dir")
        .arg(folder.path())
        .assert()
        .success();
    let last = metrics(folder.path()).pop().unwrap();
    assert_eq!(last["event"], "evaluation");
    // There are 16 test members; the ones between the two camps may go either way.
    assert!(last["test_acc"].as_f64().unwrap() > 0.8, "{last}");
    assert!(last["peak_memory_bytes"].as_u64().unwrap() > 1 << 20);
}

//! The results for a user who names only the graph.

use assert_cmd::Command;

use super::common::{metrics, repository};

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

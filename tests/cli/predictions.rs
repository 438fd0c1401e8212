//! `predict` writes what the trained model computes, in both formats, and leaves no half-written file.

use std::path::Path;

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use safetensors::SafeTensors;

use super::common::repository;
use super::program::Program;

fn trained(folder: &Path) {
    Program::new()
        .arg("--part-json")
        .arg(repository("data/karate/karate.json"))
        .args(["--epochs", "30", "--layers", "2", "--hidden", "16", "--spill-dir"])
        .arg(folder.join("spill"))
        .arg("--out")
        .arg(folder.join("run"))
        .assert()
        .success();
}

fn predict(folder: &Path, name: &str, output: &str) -> Vec<u8> {
    let path = folder.join(name);
    Program::new()
        .args(["predict", "--output", output, "--run"])
        .arg(folder.join("run"))
        .arg("--out")
        .arg(&path)
        .assert()
        .success();
    std::fs::read(path).unwrap()
}

#[test]
fn classes_and_features_of_another_table_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let sar =
        |words: &str| Program::new().current_dir(folder.path()).args(words.split(' ')).assert();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("edges", "0,1\n1,2\n2,3\n");
    let cut = "partition edges --label c --split random:0.5,0.25,0.25 --method range";
    for (name, value, [one, other]) in
        [("own", 1, ["cat", "dog"]), ("classes", 1, ["ape", "dog"]), ("scale", 7, ["cat", "dog"])]
    {
        let row = |i: i32| format!("{i},{},{}\n", i * value, if i % 2 == 0 { one } else { other });
        write("nodes", &format!("id,f,c\n{}", (0..4).map(row).collect::<String>()));
        sar(&format!("{cut} --node-table nodes --num-parts 1 --out {name}")).success();
        // The same tables in another cut.
        sar(&format!("{cut} --node-table nodes --num-parts 2 --out {name}-2")).success();
    }
    sar("--part-json own/g.json --layers 1 --epochs 2 --out run").success();
    let predict = |graph: &str| {
        sar(&format!("predict --run run --part-json {graph}/g.json --out x.csv --overwrite"))
    };
    predict("own-2").success().stderr(contains("differs").not());
    predict("scale").success().stderr(contains("feature_encoding.json: differs from training"));
    predict("classes")
        .code(1)
        .stderr(contains("class_names.txt: differs from the names of classes in training"))
        .stderr(contains("--add-nodes FILE"));
    std::fs::remove_file(folder.path().join("classes/class_names.txt")).unwrap();
    predict("classes").success();
}

#[test]
fn weights_that_are_older_than_their_run_are_noted() {
    let folder = tempfile::tempdir().unwrap();
    let sar =
        |words: &str| Program::new().current_dir(folder.path()).args(words.split(' ')).assert();
    let path = |name: &str| folder.path().join(name);
    let train = |more: &str| {
        let graph = repository("data/karate/karate.json");
        sar(&format!("--part-json {} --out run --spill-dir spill {more}", graph.display()))
    };
    train("--epochs 2 --checkpoint-every 1").success();
    std::fs::copy(path("run/model.safetensors"), path("old")).unwrap();
    sar("--resume run --epochs 3").success();
    let older = "holds the weights of epoch 2, but the run has completed epoch 3";
    sar("predict --run run --out new.csv").success().stderr(contains(older).not());
    // As after an interrupt before the end.
    std::fs::rename(path("old"), path("run/model.safetensors")).unwrap();
    let metrics = std::fs::read_to_string(path("run/metrics.jsonl")).unwrap();
    let epochs = metrics.rsplit_once("\n{").unwrap().0;
    std::fs::write(path("run/metrics.jsonl"), epochs).unwrap();
    sar("predict --run run --out old.csv").success().stderr(contains(older));
    // The best weights of a complete run may be of any epoch, also after an interrupt of what would follow.
    let keep = "--keep best --lr 0.3 --dropout 0.2 --checkpoint-every 7 --epochs 25";
    train(&format!("--layers 2 --hidden 8 --overwrite {keep}")).success();
    let end = std::fs::read_to_string(path("run/end.json")).unwrap();
    std::fs::write(path("run/end.json"), end.replace("\"done\"", "\"interrupted\"")).unwrap();
    let noted = contains("holds the weights of epoch");
    sar("predict --run run --out best.csv").success().stderr(noted.not());
}

#[test]
fn classes_are_the_largest_logits_in_both_formats() {
    let folder = tempfile::tempdir().unwrap();
    trained(folder.path());
    let logits = predict(folder.path(), "logits.safetensors", "logits");
    let logits = SafeTensors::deserialize(&logits).unwrap();
    let logits = logits.tensor("logits").unwrap();
    assert_eq!(logits.shape(), [34, 2]);
    let floats = logits.data().chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()));
    let floats: Vec<f32> = floats.collect();
    let expected: Vec<i64> = floats.chunks(2).map(|row| i64::from(row[1] > row[0])).collect();

    let npy = predict(folder.path(), "classes.npy", "classes");
    let data = &npy[npy.len() - 34 * 8..];
    let classes = data.chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().unwrap()));
    assert_eq!(classes.collect::<Vec<_>>(), expected);
    assert!(npy.starts_with(b"\x93NUMPY\x01\x00"));

    let names = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name());
    assert!(names.map(|n| n.into_string().unwrap()).all(|n| !n.starts_with('.')));
}

#[test]
fn a_format_that_is_not_written_and_a_folder_that_is_no_run_are_named() {
    let folder = tempfile::tempdir().unwrap();
    trained(folder.path());
    let run = folder.path().join("run");
    let with = |run: &Path, out: &str| {
        let mut command = Program::new();
        command.arg("predict").arg("--run").arg(run).arg("--out").arg(folder.path().join(out));
        command
    };
    with(&run, "x.txt").assert().code(1).stderr(contains(".csv or .parquet"));
    with(folder.path(), "x.npy").assert().code(1).stderr(contains("config.toml"));
    std::fs::write(run.join("model.safetensors"), "not weights").unwrap();
    with(&run, "x.npy").assert().code(1).stderr(contains("is not a safetensors file"));
    assert!(!folder.path().join("x.npy").exists());
}

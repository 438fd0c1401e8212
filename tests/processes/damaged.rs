//! Files of a run that do not hold what was written: each damage is found, and an older checkpoint takes over.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use super::common::repository;
use super::program::Program;
use super::run::{Ended, Run};

/// A finished run with two checkpoints; each of the other flags adds tensors.
fn trained(more: &[&str]) -> Ended {
    let karate = repository("data/karate/karate.json");
    let flags = ["--epochs", "3", "--checkpoint-every", "1", "--layers", "2", "--hidden", "2"];
    let run = Run::start(&karate, &[&flags, more].concat()).end();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run
}

fn out(run: &Ended) -> PathBuf {
    run.spill.with_file_name("out")
}

fn sar(args: &[&str]) -> Output {
    Program::new().args(args).output().unwrap()
}

fn resume(out: &Path, more: &[&str]) -> Output {
    sar(&[&["--resume", out.to_str().unwrap()], more].concat())
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Positions spread over a file, including all of its first `front` bytes.
fn positions(len: usize, front: usize) -> impl Iterator<Item = usize> {
    let rest = (0..).map(move |i| front + i * 41).take_while(move |at| *at < len);
    (0..front.min(len)).chain(rest)
}

/// The length of a safetensors file's header, including the field with that length.
fn front(bytes: &[u8]) -> usize {
    8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize
}

#[test]
fn every_damage_to_a_checkpoint_is_found_before_anything_of_it_is_used() {
    let run = trained(&["--patience", "90", "--norm", "batch"]);
    let path = out(&run).join("checkpoint.safetensors");
    let whole = fs::read(&path).unwrap();
    let copy = tempfile::tempdir().unwrap();
    let copied = copy.path().join("checkpoint.safetensors");
    let intact = |bytes: &[u8]| {
        fs::write(&copied, bytes).unwrap();
        let opened = sar::train::Checkpoint::open(&copied);
        opened.and_then(|checkpoint| checkpoint.verify()).map_err(|error| error.to_string())
    };
    assert_eq!(intact(&whole), Ok(true));
    let header = front(&whole);
    let mut looked_at = 0;
    for at in positions(whole.len(), header) {
        for bit in [0, 6] {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            match intact(&damaged) {
                Ok(verified) => panic!("byte {at}, bit {bit}: {verified}"),
                Err(error) => assert!(error.contains("checkpoint.safetensors: is "), "{error}"),
            }
            looked_at += 1;
        }
    }
    assert!(looked_at > 1000, "{looked_at}");
    for keep in [0, 300, whole.len() - 1] {
        intact(&whole[..keep]).unwrap_err();
    }
}

#[test]
fn a_damaged_checkpoint_costs_an_interval_and_two_the_run() {
    let run = trained(&[]);
    let out = out(&run);
    let (last, previous) =
        (out.join("checkpoint.safetensors"), out.join("checkpoint.previous.safetensors"));
    let weights = || fs::read(out.join("model.safetensors")).unwrap();
    let (expected, checkpoint) = (weights(), fs::read(&last).unwrap());
    let damage = |path: &Path| {
        let mut bytes = fs::read(path).unwrap();
        let at = bytes.len() - 3;
        bytes[at] ^= 64;
        fs::write(path, bytes).unwrap();
    };
    damage(&last);
    let resumed = resume(&out, &[]);
    let notes = stderr(&resumed);
    assert!(resumed.status.success(), "{notes}");
    assert!(notes.contains("checkpoint.safetensors: is damaged"), "{notes}");
    assert!(notes.contains("the previous checkpoint is used"), "{notes}");
    assert!(notes.contains("note: continuing after epoch 2"), "{notes}");
    assert!(weights() == expected && fs::read(&last).unwrap() == checkpoint);
    let metrics = fs::read_to_string(out.join("metrics.jsonl")).unwrap();
    assert_eq!(metrics.lines().count(), 4, "each epoch once, and the evaluation:\n{metrics}");
    // Killed between the renaming of the last checkpoint and that of the pending one.
    fs::remove_file(&last).unwrap();
    assert!(resume(&out, &[]).status.success());
    damage(&last);
    damage(&previous);
    let refused = resume(&out, &[]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        stderr(&refused).contains("checkpoint.safetensors: is damaged"),
        "{}",
        stderr(&refused)
    );
}

#[test]
fn every_tensor_that_a_run_needs_is_demanded_by_name() {
    // A file of an earlier version, which has no checksum.
    let run = trained(&["--patience", "90"]);
    let out = out(&run);
    fs::remove_file(out.join("checkpoint.previous.safetensors")).unwrap();
    let path = out.join("checkpoint.safetensors");
    let bytes = fs::read(&path).unwrap();
    let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    let mut texts = header.metadata().clone().unwrap();
    // Earlier versions wrote none of these.
    for text in ["crc32", "graph", "outputs"] {
        texts.remove(text).unwrap();
    }
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let names: Vec<String> = file.names().into_iter().map(ToString::to_string).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    let write = |renamed: Option<&str>| {
        let tensors = file.iter().map(|(name, view)| {
            let other = if Some(name) == renamed { "x" } else { "" };
            (format!("{name}{other}"), view)
        });
        fs::write(&path, safetensors::serialize(tensors, Some(texts.clone())).unwrap()).unwrap();
    };
    for name in &names {
        write(Some(name));
        let refused = resume(&out, &["--epochs", "4"]);
        assert_eq!(refused.status.code(), Some(1), "{name}: {}", stderr(&refused));
        let expected = format!("checkpoint.safetensors: {name}: is missing");
        assert!(stderr(&refused).contains(&expected), "{}", stderr(&refused));
    }
    write(None);
    let resumed = resume(&out, &["--epochs", "4"]);
    assert!(resumed.status.success(), "{}", stderr(&resumed));
    assert!(stderr(&resumed).contains("cannot be verified"), "{}", stderr(&resumed));
}

#[test]
fn weights_are_verified_and_belong_to_their_configuration() {
    let run = trained(&[]);
    let out = out(&run);
    let to = out.with_file_name("p.npy");
    let predict = |more: &[&str]| {
        let flags = [
            "predict",
            "--overwrite",
            "--run",
            out.to_str().unwrap(),
            "--out",
            to.to_str().unwrap(),
        ];
        sar(&[&flags, more].concat())
    };
    let path = out.join("model.safetensors");
    let whole = fs::read(&path).unwrap();
    safetensors::SafeTensors::deserialize(&whole).unwrap();
    assert!(predict(&[]).status.success());
    for at in [20, front(&whole) - 30, front(&whole) + 5, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(&path, damaged).unwrap();
        let refused = predict(&[]);
        assert_eq!(refused.status.code(), Some(1), "byte {at}: {}", stderr(&refused));
        assert!(stderr(&refused).contains("model.safetensors: is "), "{}", stderr(&refused));
    }
    // The files of a run of the first version that was killed early.
    fs::write(&path, &whole).unwrap();
    let config = out.join("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("lr = 0.01", "lr = 0.5")).unwrap();
    let refused = predict(&[]);
    assert_eq!(refused.status.code(), Some(1));
    let error = stderr(&refused);
    assert!(error.contains("optimizer.lr was `0.01`, but is `0.5`"), "{error}");
    let elsewhere = out.with_file_name("chosen.safetensors");
    fs::copy(&path, &elsewhere).unwrap();
    let chosen = predict(&["--weights", elsewhere.to_str().unwrap()]);
    assert!(chosen.status.success(), "{}", stderr(&chosen));
}

//! The simulator must be able to fail: broken outcomes are reported.

use std::fs;

use super::judge::judge_clean;
use super::process::{Ended, Status};
use super::scene::{Folders, Scene};

/// Breaks the outcome of a good run in several ways; returns those that go unnoticed.
pub(crate) fn self_test(folders: &Folders) -> Vec<String> {
    let found = (0..100).find_map(|number| Scene::set(number, folders).ok());
    let scene = found.unwrap();
    let good = |stderr: &str| Ended {
        status: Status::Code(0),
        others: Vec::new(),
        stderr: stderr.to_owned(),
        strays: 0,
        struck: Vec::new(),
        counts: scene.counts,
        paused: 0,
        cut: false,
        pieces: scene.pieces,
    };
    let mut unnoticed = Vec::new();
    let mut check = |what: &str, ended: Ended, wrong: bool| {
        if judge_clean(&scene, &ended).is_err() != wrong {
            unnoticed.push(format!("self-test: {what}"));
        }
    };
    check("a good run counts as a bad one", good(""), false);
    check("two errors pass", good("error: a\nerror: b\n"), true);
    check("a panic passes", good("thread panicked at\n"), true);
    check("a process that stays passes", Ended { strays: 1, ..good("") }, true);
    check("a run that hangs passes", Ended { status: Status::Hung, ..good("") }, true);
    check("exit code 101 passes", Ended { status: Status::Code(101), ..good("") }, true);
    let panicked = vec![Status::Code(101)];
    check("a machine that panics passes", Ended { others: panicked, ..good("") }, true);
    let weights = scene.out.join("model.safetensors");
    let bytes = fs::read(&weights).unwrap();
    let mut tampered = bytes.clone();
    *tampered.last_mut().unwrap() ^= 1;
    fs::write(&weights, tampered).unwrap();
    check("a wrong bit of the weights passes", good(""), true);
    fs::write(&weights, bytes).unwrap();
    check("right weights do not pass", good(""), false);
    let metrics = scene.out.join("metrics.jsonl");
    let lines = fs::read_to_string(&metrics).unwrap();
    fs::write(&metrics, lines.lines().skip(1).collect::<Vec<_>>().join("\n")).unwrap();
    check("a missing epoch passes", good(""), true);
    fs::write(&metrics, lines).unwrap();
    let left = scene.spill.join("sar-single-x");
    fs::create_dir_all(&left).unwrap();
    check("a folder that is left passes", good(""), true);
    fs::remove_dir(&left).unwrap();
    fs::write(scene.out.join(".partial-x"), "").unwrap();
    check("an unfinished file passes", good(""), true);
    unnoticed
}

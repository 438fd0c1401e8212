//! A run on two machines has the bits of a run on one, whatever its configuration: trained, resumed and predicted. Here the two
//! machines are processes that mpirun starts.

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;
use std::process::{Command, Stdio};

use super::case::{Case, cases};
use super::life::training;
use super::mpirun::mpirun;

const PROGRAM: &str = env!("CARGO_BIN_EXE_sar-single");

/// Runs the program on one machine, or on two.
fn succeed(what: &str, case: &Case, machines: usize, args: &[String]) {
    let mut command = Command::new(PROGRAM);
    if machines > 1 {
        command = mpirun();
        command.args(["-n", &machines.to_string(), PROGRAM]);
    }
    let output = command.args(args).stdin(Stdio::null()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let (name, words) = (&case.name, args.join(" "));
    assert!(output.status.success(), "{what} of {name} on {machines}\n{words}\n{stderr}");
}

fn live(case: &Case) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let words = |words: &[&str], out: &Path| {
        let flag = if words[0] == "predict" { "run" } else { "resume" };
        let out = format!("--{flag}={}", out.display());
        words.iter().copied().map(str::to_owned).chain([out]).collect::<Vec<_>>()
    };
    let (one, two) = (path("one"), path("two"));
    succeed("training", case, 1, &training(case, 3, &one));
    succeed("training", case, 2, &training(case, 2, &two));
    succeed("resuming", case, 2, &words(&["--epochs=3"], &two));
    let of = |folder: &Path, name: &str| fs::read(folder.join(name)).unwrap();
    let weights = |out: &Path| of(out, "model.safetensors");
    assert!(weights(&one) == weights(&two), "{}: other weights", case.name);
    for chosen in case.predictions() {
        for (machines, out) in [(1, &one), (2, &two)] {
            let file = format!("--out={}", out.join("p.npy").display());
            let flags = [&["predict", "--overwrite", &file], &chosen[..]].concat();
            succeed("predicting", case, machines, &words(&flags, out));
        }
        assert!(of(&one, "p.npy") == of(&two, "p.npy"), "{}: other predictions", case.name);
    }
}

/// A case of each kind of model, each in another mode, and one of each mode; with `SAR_ALL_MACHINES`, all cases.
fn chosen(cases: &[Case]) -> Vec<&Case> {
    if std::env::var_os("SAR_ALL_MACHINES").is_some() {
        return cases.iter().collect();
    }
    let kinds = cases.chunk_by(|a, b| {
        std::mem::discriminant(&a.config.model.kind) == std::mem::discriminant(&b.config.model.kind)
    });
    let mut chosen: Vec<&Case> = kinds.enumerate().map(|(i, of)| &of[i % of.len()]).collect();
    for case in cases {
        if chosen.iter().all(|other| other.mode != case.mode) {
            chosen.push(case);
        }
    }
    chosen
}

#[test]
fn two_machines_give_the_bits_of_one_in_every_mode() {
    let cases = cases();
    let chosen = chosen(&cases);
    let failed = chosen.iter().filter(|case| catch_unwind(|| live(case)).is_err());
    let failed: Vec<_> = failed.map(|case| &case.name).collect();
    assert!(failed.is_empty(), "of {} cases: {failed:#?}", chosen.len());
}

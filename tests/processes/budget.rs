//! The memory budget: the same weights at every budget, fewer bytes written where more is kept, and a clear error where it is
//! too small.

use std::fs;

use super::common::{metrics, repository};
use super::run::Run;

#[test]
fn a_budget_that_is_too_small_ends_the_run_with_exit_code_4() {
    let ended = Run::endless(&["--memory-budget", "20MiB"]).end();
    assert_eq!(ended.code, Some(4));
    let error = ended.error();
    assert!(error.contains("the memory budget is 20.0 MiB"), "{error}");
    assert!(ended.stderr.contains("hint: raise --memory-budget"), "{}", ended.stderr);
    ended.assert_no_spill_files();
}

#[test]
fn outputs_that_do_not_fit_are_refused_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("graph");
    let sizes = ["--nodes", "8000", "--edges", "16000", "--features", "4", "--classes", "8000"];
    let mut generate = std::process::Command::new(env!("CARGO_BIN_EXE_sar-single"));
    let made = generate.arg("generate").args(sizes).args(["--num-parts", "2", "--out"]).arg(&out);
    assert!(made.output().unwrap().status.success());
    // The hidden layers alone would fit.
    let flags = ["--hidden", "16", "--layers", "2", "--epochs", "1", "--memory-budget", "360MiB"];
    let run = Run::start(&out.join("g.json"), &flags);
    let folder_of_run = run.out();
    let ended = run.end();
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(ended.error().contains("the memory budget is 360 MiB"), "{}", ended.stderr);
    assert!(!folder_of_run.exists());
    ended.assert_no_spill_files();
}

#[test]
fn budgets_change_what_is_written_and_not_what_is_learned() {
    let json = repository("data/karate/karate.json");
    let train = |budget: &str| {
        let run = Run::start(&json, &["--epochs", "100", "--memory-budget", budget]);
        let out = run.out();
        let ended = run.end();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let lines = metrics(&out);
        let written: Vec<u64> =
            lines.iter().filter_map(|line| line["bytes_written"].as_u64()).collect();
        (fs::read(out.join("model.safetensors")).unwrap(), written)
    };
    let (least, some, everything) = (train("min"), train("250MiB"), train("2GiB"));
    assert_eq!(least.0, some.0);
    assert_eq!(least.0, everything.0);
    // The first epoch keeps what the plan has room for.
    assert!(some.1[0] <= least.1[0], "{} of {}", some.1[0], least.1[0]);
    assert!(everything.1[0] < least.1[0], "{} of {}", everything.1[0], least.1[0]);
    for budget in [&some, &everything] {
        let last = (least.1.last().unwrap(), budget.1.last().unwrap());
        assert!(last.1 < last.0, "{last:?}");
    }
}

//! `plan`: a run takes what the plan predicts, and a run that does not fit ends before it starts.

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, starts_with};
use serde_json::Value;

use super::common::{metrics, repository};

fn sar() -> Command {
    Command::cargo_bin("sar-single").unwrap()
}

/// Number of edges above that of a stand-in.
fn generated(folder: &Path, parts: &str) -> PathBuf {
    let out = folder.join("graph");
    sar()
        .args(["generate", "--nodes", "30000", "--edges", "900000", "--features", "16"])
        .args(["--classes", "5", "--num-parts", parts, "--out"])
        .arg(&out)
        .assert()
        .success();
    out.join("g.json")
}

fn plan(json: &Path, spill: &Path, more: &[&str]) -> Value {
    let mut command = sar();
    command.arg("plan").arg("--part-json").arg(json).arg("--spill-dir").arg(spill).arg("--json");
    let output = command.args(more).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The third epoch of a run.
fn third_epoch(json: &Path, folder: &Path, more: &[&str]) -> Value {
    let out = folder.join("out");
    sar()
        .arg("--part-json")
        .arg(json)
        .arg("--spill-dir")
        .arg(folder)
        .arg("--out")
        .arg(&out)
        .args(["--epochs", "3", "--overwrite"])
        .args(more)
        .assert()
        .success();
    metrics(&out).swap_remove(2)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn assert_close(what: &str, planned: &Value, taken: &Value, within: f64) {
    let ratio = number(planned) / number(taken);
    assert!((ratio - 1.0).abs() < within, "{what}: {planned} planned, {taken} taken");
}

#[test]
fn bytes_and_memory_are_planned() {
    let folder = tempfile::tempdir().unwrap();
    let json = generated(folder.path(), "5");
    let flags = ["--hidden", "48", "--memory-budget", "min"];
    let plan = plan(&json, folder.path(), &flags);
    let epoch = third_epoch(&json, folder.path(), &flags);
    for what in ["written", "read"] {
        let of_plan = |field: &str| &plan["epoch"][field];
        let (taken, unpacked) = (format!("bytes_{what}"), format!("{what}_unpacked"));
        // A stand-in's values have about as many zeros.
        assert_close(what, of_plan(what), &epoch[taken], 0.1);
        assert_close(what, of_plan(&unpacked), &epoch[format!("bytes_{unpacked}")], 0.02);
    }
    // Samples of a short run miss peaks, so this can only be rough.
    let [planned, taken] = [&plan["memory"]["least"], &epoch["peak_memory_bytes"]].map(number);
    assert!(planned > 0.8 * taken && planned < 2.0 * taken, "{planned} planned, {taken} taken");
    assert_eq!(plan["edges"], 900_000);
    assert_eq!(plan["sampled"], false);
    let moved =
        number(&plan["epoch"]["written_unpacked"]) + number(&plan["epoch"]["read_unpacked"]);
    assert!(moved > number(&plan["epoch"]["bound"]), "{plan}");
    assert!(number(&plan["disk"]["peak"]) > 1e6, "{plan}");
    let all = number(&plan["disk"]["epochs"]) * number(&plan["epoch"]["written_unpacked"]);
    assert_close("written in the run", &plan["disk"]["written"], &all.into(), 0.001);
}

/// With many partitions, most of the memory is that of waiting processes.
#[test]
fn many_partitions_take_no_more_than_is_planned() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--hidden", "32", "--memory-budget", "min"];
    for parts in ["16", "48"] {
        let graph = folder.path().join(parts);
        let json = generated(&graph, parts);
        let planned = number(&plan(&json, folder.path(), &flags)["memory"]["least"]);
        let taken = number(&third_epoch(&json, &graph, &flags)["peak_memory_bytes"]);
        // Processes that share libraries with others, such as those of other tests, count less of them.
        assert!(planned > 0.9 * taken, "{parts}: {planned} planned, {taken} taken");
        assert!(planned < 2.0 * taken, "{parts}: {planned} planned, {taken} taken");
    }
}

#[test]
fn a_budget_with_room_for_everything_leaves_the_exchange() {
    let folder = tempfile::tempdir().unwrap();
    let json = repository("data/karate/karate.json");
    let [least, much] =
        ["min", "4GiB"].map(|budget| plan(&json, folder.path(), &["--memory-budget", budget]));
    assert_eq!(least["memory"]["budget"], Value::Null);
    assert_eq!(least["memory"]["kept"], 0);
    assert!(number(&much["memory"]["kept"]) > 1e9, "{much}");
    assert_eq!(much["epoch"]["bound"], 0);
    assert!(number(&much["epoch"]["written"]) < number(&least["epoch"]["written"]));
    let moved = |epoch: &Value| number(&epoch["written"]) + number(&epoch["read"]);
    assert_eq!(least["epoch"]["cached"], 0);
    assert!(number(&much["epoch"]["cached"]) > 0.99 * moved(&much["epoch"]), "{much}");
    // No file of the stand-ins stays.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn people_get_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let lines = ["memory", "disk", "bytes per epoch", "time per epoch", "written in the run"];
    let mut assert = sar()
        .arg("plan")
        .arg("--part-json")
        .arg(repository("data/karate/karate.json"))
        .arg("--spill-dir")
        .arg(folder.path())
        .args(["--model", "gat", "--mfg", "--patience", "1", "--disk-endurance", "300TB"])
        .assert()
        .success();
    assert =
        assert.stdout(contains("in 100 epochs: 0.0").and(contains(" % of the drive's endurance")));
    assert = assert.stdout(contains("advice")).stdout(starts_with("graph "));
    assert = assert.stdout(contains("lower bound").not());
    for line in lines {
        assert = assert.stdout(contains(line));
    }
}

#[test]
fn a_run_that_does_not_fit_says_so_before_it_starts_and_what_would() {
    let folder = tempfile::tempdir().unwrap();
    let (spill, out) = (folder.path().join("spill"), folder.path().join("out"));
    sar()
        .arg("--part-json")
        .arg(repository("data/karate/karate.json"))
        .arg("--spill-dir")
        .arg(&spill)
        .arg("--out")
        .arg(&out)
        .args(["--memory-budget", "30MiB", "--resident", "2"])
        .assert()
        .code(4)
        .stderr(contains("error: this run needs at least "))
        .stderr(contains("the memory budget is 30.0 MiB"))
        .stderr(contains("hint: raise --memory-budget to "))
        .stderr(contains("--resident 1 takes "))
        .stderr(contains("--hidden 64 takes "));
    assert!(!out.exists());
    assert!(!spill.exists());
}

#[test]
fn what_is_planned_is_said_at_the_start_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    sar()
        .arg("--part-json")
        .arg(repository("data/karate/karate.json"))
        .arg("--spill-dir")
        .arg(folder.path())
        .arg("--out")
        .arg(folder.path().join("out"))
        // Too little for a run without a plan, and enough for this run.
        .args(["--memory-budget", "280MiB", "--epochs", "2", "--checkpoint-every", "1"])
        .assert()
        .success()
        .stderr(contains("note: planned: "))
        .stderr(contains(" of 280 MiB memory, at most "));
    // A resumed run can also be planned.
    let resumed = sar().arg("plan").arg("--resume").arg(folder.path().join("out")).assert();
    resumed.success().stdout(contains("2 partitions"));
}

#[test]
fn a_planned_run_keeps_values_from_the_first_epoch_on() {
    let folder = tempfile::tempdir().unwrap();
    let json = generated(folder.path(), "4");
    let first_epoch = |budget: &str| {
        let out = folder.path().join(budget);
        let mut command = sar();
        command.arg("--part-json").arg(&json).arg("--spill-dir").arg(folder.path());
        command.args(["--epochs", "1", "--memory-budget", budget, "--out"]).arg(&out);
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{text}");
        let epoch = metrics(&out).swap_remove(0);
        let bytes = |name: &str| epoch[name].as_u64().unwrap();
        let moved = bytes("bytes_written") + bytes("bytes_read") - bytes("bytes_cached");
        (moved, bytes("peak_memory_bytes"), text.contains("note: planned: "))
    };
    let (nothing_kept, _, _) = first_epoch("min");
    let (moved, peak, planned) = first_epoch("400MiB");
    assert!(planned);
    assert!(moved < nothing_kept / 4, "{moved} of {nothing_kept} bytes");
    assert!(peak < 400 << 20, "{peak}");
}

#[test]
fn misuse_is_told() {
    let karate = repository("data/karate/karate.json");
    sar().arg("plan").assert().code(2).stderr(contains("--part-json <FILE>"));
    for (flags, named) in
        [(["--mode", "sample"], "--mode sample: "), (["--task", "link"], "--task link: ")]
    {
        let sampled =
            sar().arg("plan").arg("--part-json").arg(&karate).args(flags).assert().code(1);
        let problem = "only training on the full graph can be planned";
        sampled.stderr(contains(format!("{named}{problem}")));
    }
    let key =
        sar().arg("plan").arg("--part-json").arg(&karate).args(["--label-key", "no"]).assert();
    key.code(1).stderr(contains("no: does not match any feature"));
}

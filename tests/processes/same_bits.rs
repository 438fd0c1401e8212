//! Trained weights do not depend on a run's use of memory, disk and processors.

use std::fs;
use std::path::Path;

use super::program::Program;

/// Rows of megabytes, so that spill and exchange files are larger than one request to the disk.
fn graph(folder: &Path) -> std::path::PathBuf {
    let sizes = "generate --nodes 24000 --edges 120000 --features 48 --classes 8 --num-parts 3";
    let out = folder.join("graph");
    let mut command = Program::new();
    command.args(sizes.split(' ')).arg("--out").arg(&out).assert().success();
    out.join("g.json")
}

/// The weights after three epochs and the bytes that were written in the last one.
fn train(json: &Path, flags: &str) -> (Vec<u8>, u64) {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let mut command = Program::new();
    command.arg("--part-json").arg(json).arg("--out").arg(&run);
    command.arg("--spill-dir").arg(folder.path().join("spill"));
    command.args("--hidden 96 --epochs 3".split(' ')).args(flags.split(' ')).assert().success();
    let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let lines = metrics.lines().map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap());
    // With the zeros, whose number depends on rounding.
    let bytes = |line: serde_json::Value| {
        line["bytes_written_unpacked"].as_u64().or(line["bytes_written"].as_u64())
    };
    let written = lines.filter_map(bytes).next_back();
    (fs::read(run.join("model.safetensors")).unwrap(), written.unwrap())
}

/// The weights, and the bytes that are written if nothing is kept.
fn check(dtype: &str) -> (Vec<u8>, u64) {
    let folder = tempfile::tempdir().unwrap();
    let json = graph(folder.path());
    let train = |flags: &str| train(&json, &format!("{dtype} {flags}"));
    let (weights, least) = train("--memory-budget min");
    let (same, most) = train("--memory-budget 4GiB");
    assert!(same == weights, "all in memory");
    assert!(most < least, "{most} bytes are written with everything in memory, {least} else");
    for flags in [
        "--memory-budget 200MiB --io buffered",
        "--memory-budget min --io buffered --resident 2",
        "--memory-budget 4GiB --resident 3 --threads 1",
    ] {
        assert!(train(flags).0 == weights, "{flags}");
    }
    (weights, least)
}

#[test]
fn budgets_residents_threads_and_ways_to_the_disk_do_not_change_a_bit() {
    let ((_, single), (kept, half)) = (check("--spill-dtype f32"), check("--spill-dtype bf16"));
    // Structure and narrow matrices stay as they are.
    assert!(half < single * 2 / 3, "{half} bytes of bfloat16s, {single} of floats");
    let (computed, bytes) = check("--compute-dtype bf16");
    assert!(computed != kept, "products are of bfloat16s, too");
    assert!(bytes <= half, "{bytes} bytes, {half} with --spill-dtype alone");
}

//! Sums along edges take fewer rows between partitions than there are sources, and nothing else changes.

use std::path::Path;

use super::common::epochs;
use super::program::Program;

/// Bytes that the third epoch writes, all of them messages, and the losses of all epochs.
fn run(graph: &Path, flags: &[&str]) -> (u64, Vec<f64>) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut command = Program::new();
    command.arg("--part-json").arg(graph).arg("--out").arg(&out).args(flags);
    // What is compared is numbers of rows.
    command.env("SAR_PACKING", "off");
    command.args(["--hidden", "32", "--epochs", "3", "--memory-budget", "4GiB"]).assert().success();
    let epochs = epochs(&out);
    let losses = epochs.iter().map(|line| line["loss"].as_f64().unwrap()).collect();
    (epochs[2]["bytes_written"].as_u64().unwrap(), losses)
}

#[test]
fn sums_between_random_partitions_of_a_skewed_graph_take_two_thirds_of_the_rows() {
    let folder = tempfile::tempdir().unwrap();
    let words =
        "generate --kind rmat --nodes 4000 --edges 64000 --features 8 --classes 5 --num-parts 4";
    let mut generate = Program::new();
    generate.args(words.split(' ')).arg("--out").arg(folder.path().join("g")).assert().success();
    let graph = folder.path().join("g/g.json");
    for flags in [&["--model", "sage"][..], &["--model", "gin"], &["--model", "gcn", "--mfg"]] {
        let (written, losses) = run(&graph, flags);
        // One-shot aggregation sends the row of every source.
        let flags: Vec<_> = flags.iter().copied().filter(|flag| *flag != "--mfg").collect();
        let (all, expected) = run(&graph, &[&flags[..], &["--one-shot"]].concat());
        assert!(4 * written < 3 * all, "{flags:?}: {written} of {all} bytes");
        for (loss, expected) in losses.iter().zip(&expected) {
            assert!(
                (loss - expected).abs() < 1e-4 * expected,
                "{flags:?}: {losses:?}, {expected:?}"
            );
        }
    }
    // A maximum cannot be divided into sums.
    let pool = ["--model", "sage", "--aggregator", "pool"];
    let (written, _) = run(&graph, &pool);
    assert_eq!(written, run(&graph, &[&pool[..], &["--one-shot"]].concat()).0);
}

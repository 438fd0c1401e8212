//! First epochs, in which little is known of the memory of workers.

use std::fs;

use super::evaluation::{keeps, stays_within};
use super::{alone, made_graph, program};

/// A budget for wide layers, of which the plan's small graphs show too little: two workers at a time took 350 MiB.
const BUDGET: u64 = 330 << 20;

/// A budget for partitions of which the first is small: with two workers at a time, and with what they may keep after a turn of
/// that worker, others take 300 MiB.
const SKEWED: u64 = 250 << 20;

#[test]
fn a_first_epoch_stays_within_the_budget() {
    let sizes = ["--nodes", "90000", "--edges", "180000", "--features", "300", "--classes", "47"];
    let flags = ["--model", "gcn", "--layers", "2", "--hidden", "700", "--epochs", "2"];
    stays_within(BUDGET, &sizes, 4, &flags);
}

#[test]
fn a_worker_with_a_small_partition_does_not_show_what_others_take() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let sizes = ["--nodes", "60000", "--edges", "600000", "--features", "300", "--classes", "8"];
    let whole = made_graph(&folder.join("whole"), &sizes, 1);
    let part = |node: u32| if node.is_multiple_of(100) { 0 } else { 1 + node % 3 };
    let lines: Vec<String> = (0..60_000).map(|node| format!("{}\n", part(node))).collect();
    let (assignment, out) = (folder.join("assignment.txt"), folder.join("graph"));
    fs::write(&assignment, lines.concat()).unwrap();
    let mut cut = program();
    cut.args(["partition", "--part-json", &whole, "--method", "file", "--num-parts", "4"]);
    cut.arg("--assignment").arg(&assignment).arg("--out").arg(&out);
    let cut = cut.output().unwrap();
    assert!(cut.status.success(), "{}", String::from_utf8_lossy(&cut.stderr));
    let json = out.join("g.json");
    let flags = ["--model", "gat", "--hidden", "32", "--epochs", "1"];
    keeps(SKEWED, folder, json.to_str().unwrap(), &flags);
}

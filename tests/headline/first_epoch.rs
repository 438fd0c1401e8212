//! First epochs, in which little is known of the memory of workers.

use super::alone;
use super::evaluation::{keeps, stays_within};
use super::graphs::{Division, divided};

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
    let sizes = ["--nodes", "60000", "--edges", "600000", "--features", "300", "--classes", "8"];
    let json = divided(&folder.path().join("graph"), Division::Skewed, &sizes, 4);
    let flags = ["--model", "gat", "--hidden", "32", "--epochs", "1"];
    keeps(SKEWED, folder.path(), &json, &flags);
}

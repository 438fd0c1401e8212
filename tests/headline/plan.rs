//! A plan keeps the budget that it is made for: its stand-ins are processes, too.

use std::process::Output;

use super::graphs::made_graph;
use super::group::Group;
use super::{CODE, alone, program};

#[test]
fn stand_ins_stay_within_the_budget() {
    // Six stand-ins that keep what they free do not fit: each has 20 MB of parameters, however small its part of the graph is.
    let sizes = ["--nodes", "3000", "--edges", "6000", "--features", "8", "--classes", "8"];
    stays_within(260_000_000, &sizes, 8, &["--hidden", "900", "--layers", "3"]);
}

#[test]
fn one_stand_in_at_a_time_is_resident() {
    // One at a time takes 170 MB, and two take 225 MB.
    let sizes = ["--nodes", "20000", "--edges", "40000", "--features", "8", "--classes", "1200"];
    let flags = ["--model", "gcn", "--hidden", "64", "--layers", "2"];
    let most = stays_within(265_000_000, &sizes, 4, &flags);
    assert!(most.is_none_or(|most| most < 200_000_000), "{most:?}");
}

#[test]
fn rows_and_files_of_wide_outputs_stay_within_the_budget() {
    // Stand-ins as large as the graph and their files take 440 MiB.
    let sizes = ["--nodes", "60000", "--edges", "120000", "--features", "64", "--classes", "1500"];
    stays_within(407 << 20, &sizes, 4, &["--model", "gcn"]);
}

/// Checks that the plan of a run on a graph of these sizes stays within the budget, in which the run fits. Returns the memory that the
/// plan takes, if it can be counted here.
fn stays_within(budget: u64, sizes: &[&str], parts: usize, flags: &[&str]) -> Option<u64> {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let graph = made_graph(&folder.path().join("graph"), sizes, parts);
    let Some(group) = Group::make(budget + CODE) else {
        eprintln!("SKIPPED: no control group that limits memory can be made here");
        return None;
    };
    let mut plan = program();
    plan.args(["plan", "--json", "--part-json", &graph]).args(flags);
    plan.args(["--memory-budget", &budget.to_string(), "--spill-dir"]).arg(folder.path());
    group.take_in(&mut plan);
    let Output { status, stdout, stderr } = plan.output().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let planned: serde_json::Value = serde_json::from_slice(&stdout).unwrap();
    let least = planned["memory"]["least"].as_u64().unwrap();
    assert!(least < budget, "the run does not fit: {least}");
    let most = group.most_memory();
    assert!(most <= budget, "{most} of {budget}, for a run that takes {least}");
    Some(most)
}

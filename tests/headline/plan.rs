//! A plan keeps the budget that it is made for: its stand-ins are processes, too.

use std::process::Output;

use super::group::Group;
use super::{CODE, alone, made_graph, program};

/// A budget in which the run fits, and in which six stand-ins that keep what they free do not: each has 20 MB of parameters, however
/// small its part of the graph is.
const BUDGET: u64 = 260_000_000;

#[test]
fn stand_ins_stay_within_the_budget() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let sizes = ["--nodes", "3000", "--edges", "6000", "--features", "8", "--classes", "8"];
    let graph = made_graph(&folder.path().join("graph"), &sizes, 8);
    let Some(group) = Group::make(BUDGET + CODE) else {
        eprintln!("SKIPPED: no control group that limits memory can be made here");
        return;
    };
    let mut plan = program();
    plan.args(["plan", "--json", "--part-json", &graph, "--hidden", "900", "--layers", "3"]);
    plan.args(["--memory-budget", &BUDGET.to_string(), "--spill-dir"]).arg(folder.path());
    group.take_in(&mut plan);
    let Output { status, stdout, stderr } = plan.output().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let planned: serde_json::Value = serde_json::from_slice(&stdout).unwrap();
    let least = planned["memory"]["least"].as_u64().unwrap();
    assert!(least < BUDGET, "the run does not fit: {least}");
    let most = group.most_anonymous();
    assert!(most <= BUDGET, "{most} of {BUDGET}, for a run that takes {least}");
}

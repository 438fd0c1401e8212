//! Residency: never more workers than allowed are in memory, and a parked worker holds no tensors.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal};
use sar::engine::turns::{Activity, Control};

use super::program::Program;
use super::run::Run;

const WORLD_SIZE: usize = 4;
/// Each partition has 10,000 nodes: a tensor of 128 float32 columns takes 5 MB, and a worker in its turn has several.
const TENSOR_BYTES: u64 = 10_000 * 128 * 4;
/// Allowance for a worker's memory besides tensors: stacks, libtorch's tables, libraries' writable pages it has touched.
const BARE_BYTES: u64 = 16 << 20;

fn graph(folder: &Path) -> PathBuf {
    let generated = Program::new()
        .args(["generate", "--nodes", "40000", "--edges", "400000", "--features", "128"])
        .args(["--num-parts", "4", "--out"])
        .arg(folder.join("graph"))
        .output()
        .unwrap();
    assert!(generated.status.success(), "{}", String::from_utf8_lossy(&generated.stderr));
    folder.join("graph/g.json")
}

/// Private memory of a process in bytes.
fn private_memory(pid: Pid) -> u64 {
    let path = format!("/proc/{}/smaps_rollup", pid.as_raw_nonzero());
    let rollup = fs::read_to_string(path).unwrap_or_default();
    let private = rollup.lines().filter_map(|line| line.strip_prefix("Private_"));
    let kib = private.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.sum::<u64>() << 10
}

/// The activities of all ranks, if no turn began or ended during the reading.
fn snapshot(control: &Control) -> Option<Vec<Activity>> {
    let ranks = 0..control.num_ranks();
    let look = || {
        let status = ranks.clone().map(|rank| control.rank(rank));
        status.map(|s| (s.turns.get(), s.activity())).collect::<Vec<_>>()
    };
    let before = look();
    (before == look()).then(|| before.into_iter().map(|(_, activity)| activity).collect())
}

fn watch(resident: usize) {
    let folder = tempfile::tempdir().unwrap();
    let json = graph(folder.path());
    let flags = ["--hidden", "128", "--memory-budget", "min", "--resident", &resident.to_string()];
    let run = Run::start(&json, &flags);
    let control = run.control();
    let workers = run.workers(WORLD_SIZE);
    let (mut looks, mut most_resident, mut parked_seen) = (0, 0, 0);
    let (mut largest_parked, mut largest_resident) = (0, 0);
    while control.rank(0).epoch.get() < 5 {
        for (rank, pid) in workers.iter().enumerate() {
            let turns = control.rank(rank).turns.get();
            let activity = control.rank(rank).activity();
            let memory = private_memory(*pid);
            let still = control.rank(rank).turns.get() == turns
                && control.rank(rank).activity() == activity;
            match activity {
                Activity::Parked if still => {
                    parked_seen += 1;
                    largest_parked = memory.max(largest_parked);
                }
                Activity::Resident => largest_resident = memory.max(largest_resident),
                _ => {}
            }
        }
        if let Some(activities) = snapshot(&control) {
            looks += 1;
            let count = activities.iter().filter(|a| **a == Activity::Resident).count();
            most_resident = count.max(most_resident);
        }
    }
    run.signal(Signal::INT);
    run.end().assert_no_spill_files();
    assert!(looks > 20 && parked_seen > 20, "{looks} looks, {parked_seen} at parked workers");
    assert!(most_resident <= resident, "{most_resident} workers were resident at once");
    assert!(largest_resident > 4 * TENSOR_BYTES, "a resident worker has {largest_resident} bytes");
    assert!(largest_parked < BARE_BYTES, "a parked worker has {largest_parked} bytes");
}

#[test]
fn one_worker_at_a_time_is_resident_and_the_others_hold_no_tensors() {
    watch(1);
}

#[test]
fn two_workers_may_be_resident_if_asked() {
    watch(2);
}

//! Workers killed while ranks train side by side on sampled batches: as in full-batch training, the others are gone within two
//! seconds, one message names the dead process, and no file stays.

use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};

use super::failures::{copy, on_a_small_disk, truncate};
use super::run::{Run, is_running, wait_for};

const SAMPLE: [&str; 8] =
    ["--mode", "sample", "--fanouts", "3,3,3", "--batch-size", "2", "--sampler-threads", "2"];

fn wait_gone(pids: &[rustix::process::Pid], since: Instant) {
    let running = || pids.iter().any(|pid| is_running(*pid));
    wait_for("the end of all processes", || (!running()).then_some(()));
    assert!(since.elapsed() < Duration::from_secs(2), "took {:?}", since.elapsed());
}

#[test]
fn a_killed_worker_ends_the_run_with_one_message() {
    for micros in [0, 30_000, 90_000, 200_000, 400_000] {
        let run = Run::endless(&SAMPLE);
        let control = run.control();
        let workers = run.workers(2);
        if micros > 90_000 {
            wait_for("the second epoch", || (control.rank(1).epoch.get() > 1).then_some(()));
        }
        std::thread::sleep(Duration::from_micros(micros));
        let since = Instant::now();
        kill_process(workers[1], Signal::KILL).unwrap();
        wait_gone(&[workers[0], workers[1], run.launcher()], since);
        let ended = run.end();
        assert_eq!(ended.code, Some(3), "{}", ended.stderr);
        assert!(ended.error().starts_with("error: rank 1 (process "), "{}", ended.stderr);
        ended.assert_no_spill_files();
    }
}

#[test]
fn an_interrupt_ends_the_run() {
    let run = Run::endless(&SAMPLE);
    let control = run.control();
    let workers = run.workers(2);
    wait_for("the second epoch", || (control.rank(0).epoch.get() > 1).then_some(()));
    let since = Instant::now();
    run.signal(Signal::INT);
    wait_gone(&[workers[0], workers[1], run.launcher()], since);
    let ended = run.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    ended.assert_no_spill_files();
}

#[test]
fn a_partition_that_is_truncated_while_it_is_sampled_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let json = copy(folder.path());
    let run = Run::start(&json, &SAMPLE);
    let control = run.control();
    wait_for("the second epoch", || (control.rank(0).epoch.get() > 1).then_some(()));
    truncate(&folder.path().join("part1/node_feat.dgl"), 1000);
    let ended = run.end();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.error().contains("part1/node_feat.dgl"), "{}", ended.error());
    ended.assert_no_spill_files();
}

#[test]
fn a_disk_that_fills_up_is_one_error_with_exit_code_4() {
    on_a_small_disk(&SAMPLE);
    on_a_small_disk(&["--task", "link", "--mode", "sample"]);
}

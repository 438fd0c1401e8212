//! Results of jobs, and their failures.

use std::fs;
use std::time::{Duration, Instant};

use sar::event::Event;
use sar::run::{Job, Rank, launch};
use sar::{Error, ErrorKind};
use tempfile::TempDir;

use super::common::repository;

/// A job on the karate club, and the folder of its spilled data.
pub(crate) fn job() -> (Job, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut job = Job::new(repository("data/karate/karate.json"));
    job.resources.spill_dir = folder.path().join("spill");
    (job, folder)
}

/// Runs a job that fails, and checks that nothing of it stays.
fn failure(work: impl Fn(&Rank<'_>) -> sar::Result<()>) -> Error {
    let (job, folder) = job();
    let begin = Instant::now();
    let error = launch(&job, &mut |_| {}, work).unwrap_err();
    assert!(begin.elapsed() < Duration::from_secs(20));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{error}");
    let children = format!("/proc/self/task/{}/children", std::process::id());
    assert_eq!(fs::read_to_string(children).unwrap(), "");
    error
}

pub(crate) fn results_come_by_rank() {
    let (job, folder) = job();
    let mut logged = Vec::new();
    let mut observe = |event: &Event| {
        if let Event::Log(log) = event {
            logged.push((log.epoch, log.values.clone(), log.lock_turns));
        }
    };
    let results: Vec<(usize, Vec<f64>)> = launch(&job, &mut observe, |rank| {
        let nodes = rank.partition_data().num_inner_nodes() as f64;
        let all = rank.sum(&[nodes, rank.index() as f64])?;
        let most = rank.max(&[nodes])?;
        rank.end_epoch(1, &[("nodes", all[0])])?;
        // More than one record of a pipe or of a message takes.
        let mut numbers = vec![nodes, all[0], all[1], most[0]];
        numbers.resize(600_000, rank.index() as f64);
        Ok((rank.index(), numbers))
    })
    .unwrap();
    assert_eq!(results.len(), 2);
    let nodes: Vec<f64> = results.iter().map(|(_, numbers)| numbers[0]).collect();
    for (index, (rank, numbers)) in results.iter().enumerate() {
        assert_eq!(*rank, index);
        assert_eq!(numbers[1..4], [34.0, 1.0, nodes[0].max(nodes[1])]);
        assert_eq!((numbers.len(), numbers[599_999]), (600_000, index as f64));
    }
    assert_eq!(logged, [(1, vec![("nodes".to_owned(), 34.0)], 2)]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

pub(crate) fn an_error_names_its_rank() {
    let error = failure(|rank| {
        rank.sum(&[1.0])?;
        if rank.index() == 1 {
            return Err(Error::config("height", "must be above 0"));
        }
        rank.sum(&[1.0]).map(drop)
    });
    let text = error.to_string();
    assert!(text.contains("rank 1 failed") && text.contains("must be above 0"), "{text}");
}

pub(crate) fn a_rank_that_returns_early_is_an_error() {
    let error = failure(|rank| {
        if rank.index() == 0 {
            rank.sum(&[1.0])?;
        }
        Ok(())
    });
    assert_eq!(error.kind(), ErrorKind::Worker);
    let text = error.to_string();
    assert!(text.contains("all_reduce") && text.contains("end of the run"), "{text}");
}

pub(crate) fn a_job_that_fails_at_once_leaves_no_results() {
    let (mut job, folder) = job();
    job.out = Some(folder.path().join("a/out"));
    let refused = launch(&job, &mut |_| {}, |_| Err::<(), _>(Error::config("x", "is y")));
    assert!(refused.is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

pub(crate) fn a_panic_is_an_error() {
    let error = failure(|rank| {
        assert!(rank.index() == 0, "no luck");
        rank.sum(&[1.0]).map(drop)
    });
    let text = error.to_string();
    assert!(text.contains("rank 1") && text.contains("no luck"), "{text}");
}

pub(crate) fn a_killed_worker_is_an_error() {
    let error = failure(|rank| {
        if rank.index() == 0 {
            let me = rustix::process::getpid();
            rustix::process::kill_process(me, rustix::process::Signal::KILL).unwrap();
        }
        rank.sum(&[1.0]).map(drop)
    });
    let text = error.to_string();
    assert!(text.contains("rank 0") && text.contains("SIGKILL"), "{text}");
}

pub(crate) fn a_result_that_cannot_be_read_is_an_error_of_its_rank() {
    let (mut job, _folder) = job();
    let work = |_: &Rank<'_>| Ok(serde_json::json!({ "nodes": 34 }));
    let error = launch(&job, &mut |_| {}, work).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("failed") && text.contains("`result`: cannot be read back"), "{text}");
    assert!(error.hint().unwrap().contains("serde_json::Value"));
    job.resume = true;
    let error = launch(&job, &mut |_| {}, |_| Ok(())).unwrap_err();
    assert_eq!((error.field(), error.kind()), (Some("resume"), ErrorKind::Config));
}

pub(crate) fn jobs_run_one_after_the_other() {
    let (job, _folder) = job();
    for round in 0..3 {
        let sums = launch(&job, &mut |_| {}, |rank| Ok(rank.sum(&[f64::from(round)])?[0]));
        assert_eq!(sums.unwrap(), [2.0 * f64::from(round); 2]);
        if round == 1 {
            let refused = launch(&job, &mut |_| {}, |_| Err::<(), _>(Error::config("x", "is y")));
            assert!(refused.is_err());
        }
    }
}

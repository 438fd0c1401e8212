//! A job on two machines, which are processes that mpirun starts.

use sar::run::{Job, launch};

use super::common::repository;
use super::mpirun::mpirun;

/// What each of the two processes does.
pub(crate) const ON_A_MACHINE: &str = "on_a_machine";

pub(crate) fn results_come_to_all_machines() {
    let program = std::env::current_exe().unwrap();
    let mut command = mpirun();
    let command = command.args(["-n", "2"]).arg(program).args(["--case", ON_A_MACHINE]);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert_eq!(output.stdout, b"", "{text}");
}

pub(crate) fn on_a_machine() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = Job::new(repository("data/karate/karate.json"));
    job.resources.spill_dir = folder.path().join("spill");
    let results: Vec<(usize, Vec<f64>)> = launch(&job, &mut |_| {}, |rank| {
        let sums = rank.sum(&[rank.partition().num_inner_nodes() as f64])?;
        // More than is sent at a time.
        Ok((rank.index(), vec![sums[0]; 400_000]))
    })
    .unwrap();
    let (ranks, numbers): (Vec<_>, Vec<_>) = results.into_iter().unzip();
    assert_eq!(ranks, [0, 1]);
    assert!(numbers.iter().all(|of_rank| *of_rank == vec![34.0; 400_000]));
}

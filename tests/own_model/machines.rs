//! Jobs on two machines, which are processes that mpirun starts.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use sar::Error;
use sar::run::{Job, Rank, launch};

use super::common::repository;
use super::mpirun::mpirun;

/// The work of each of two processes: its name, and the job, with arguments that only this machine has.
type Part = (&'static str, fn(&[String]));

const PARTS: [Part; 3] = [
    ("results_of_a_machine", results_of_a_machine),
    ("partitions_of_a_machine", partitions_of_a_machine),
    ("failure_of_a_machine", failure_of_a_machine),
];

/// Runs one machine's part of a job; returns whether there is one of this name.
pub(crate) fn take_part(name: &str, arguments: &[String]) -> bool {
    let part = PARTS.iter().find(|(part, _)| *part == name);
    if let Some((_, part)) = part {
        part(arguments);
    }
    part.is_some()
}

/// Runs a part of a job on two machines, each with its arguments.
fn on_two_machines(part: &str, arguments: [&[&str]; 2]) -> Output {
    let program = std::env::current_exe().unwrap();
    let mut command = mpirun();
    for (machine, arguments) in arguments.iter().enumerate() {
        command.args(&[":"][..machine]).args(["-n", "1"]).arg(&program);
        command.args(["--case", part]).args(*arguments);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

pub(crate) fn results_come_to_all_machines() {
    let output = on_two_machines("results_of_a_machine", [&[], &[]]);
    assert_eq!(output.stdout, b"");
}

fn results_of_a_machine(_: &[String]) {
    let folder = tempfile::tempdir().unwrap();
    let mut job = Job::new(repository("data/karate/karate.json"));
    job.resources.spill_dir = folder.path().join("spill");
    let results: Vec<(usize, Vec<f64>)> = launch(&job, &mut |_| {}, |rank| {
        let sums = rank.sum(&[rank.partition_data().num_inner_nodes() as f64])?;
        // More than is sent at a time.
        Ok((rank.index(), vec![sums[0]; 400_000]))
    })
    .unwrap();
    let (ranks, numbers): (Vec<_>, Vec<_>) = results.into_iter().unzip();
    assert_eq!(ranks, [0, 1]);
    assert!(numbers.iter().all(|of_rank| *of_rank == vec![34.0; 400_000]));
}

pub(crate) fn machines_work_on_the_partitions_that_a_job_names() {
    let folder = tempfile::tempdir().unwrap();
    let mut generate = Command::new(env!("CARGO_BIN_EXE_sar-single"));
    generate.args(["generate", "--nodes", "80", "--edges", "300", "--num-parts", "4", "--out"]);
    assert!(
        generate.arg(folder.path().join("g")).stdout(Stdio::null()).status().unwrap().success()
    );
    let json = folder.path().join("g/g.json");
    let json = json.to_str().unwrap();
    on_two_machines("partitions_of_a_machine", [&[json, "0,2-3"], &[json, "1"]]);
}

fn partitions_of_a_machine(arguments: &[String]) {
    let folder = tempfile::tempdir().unwrap();
    let mut job = Job::new(Path::new(&arguments[0]));
    job.resources.spill_dir = folder.path().join("spill");
    job.resources.partitions = Some(arguments[1].parse().unwrap());
    let launcher = |_: &Rank<'_>| {
        let launcher = rustix::process::getppid().unwrap();
        Ok(launcher.as_raw_nonzero().get())
    };
    let launchers: Vec<i32> = launch(&job, &mut |_| {}, launcher).unwrap();
    let first = launchers[0];
    let with_the_first: Vec<_> = launchers.iter().map(|launcher| *launcher == first).collect();
    assert_eq!(with_the_first, [true, false, true, true]);
}

pub(crate) fn failures_end_a_job_on_all_machines() {
    on_two_machines("failure_of_a_machine", [&[], &[]]);
}

fn failure_of_a_machine(_: &[String]) {
    let folder = tempfile::tempdir().unwrap();
    let mut job = Job::new(repository("data/karate/karate.json"));
    job.resources.spill_dir = folder.path().join("spill");
    job.out = Some(folder.path().join("out"));
    let error = launch(&job, &mut |_| {}, |rank| {
        rank.sum(&[1.0])?;
        if rank.index() == 1 {
            return Err(Error::config("height", "must be above 0"));
        }
        rank.sum(&[1.0]).map(drop)
    });
    let error = error.unwrap_err().to_string();
    assert!(error.starts_with("machine 1: rank 1 failed"), "{error}");
    assert!(error.contains("`height`: must be above 0"), "{error}");
    let left: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

//! Users' programs on worker processes: results, failures, and a training that is killed and resumed.
//!
//! Workers are forked from a process with one thread, so this is not a libtest binary: it starts itself once for each case, by name.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

#[cfg(feature = "mpi")]
#[path = "../common/mpirun.rs"]
mod mpirun;

mod cases;
mod example;
#[cfg(feature = "mpi")]
mod machines;
mod seed_loop;
mod states;
mod tutorial;

use std::process::{Command, ExitCode};
use std::time::Instant;

/// A case: its name, and the work of its process.
type Case = (&'static str, fn());

const CASES: &[Case] = &[
    ("results_come_by_rank", cases::results_come_by_rank),
    ("an_error_names_its_rank", cases::an_error_names_its_rank),
    ("a_rank_that_returns_early_is_an_error", cases::a_rank_that_returns_early_is_an_error),
    ("a_panic_is_an_error", cases::a_panic_is_an_error),
    ("a_killed_worker_is_an_error", cases::a_killed_worker_is_an_error),
    (
        "a_job_that_fails_at_once_leaves_no_results",
        cases::a_job_that_fails_at_once_leaves_no_results,
    ),
    ("a_damaged_state_costs_the_interval_to_the_one_before", states::damaged),
    #[cfg(feature = "mpi")]
    ("results_come_to_all_machines", machines::results_come_to_all_machines),
    #[cfg(feature = "mpi")]
    (
        "machines_work_on_the_partitions_that_a_job_names",
        machines::machines_work_on_the_partitions_that_a_job_names,
    ),
    #[cfg(feature = "mpi")]
    ("failures_end_a_job_on_all_machines", machines::failures_end_a_job_on_all_machines),
    (
        "a_result_that_cannot_be_read_is_an_error_of_its_rank",
        cases::a_result_that_cannot_be_read_is_an_error_of_its_rank,
    ),
    ("jobs_run_one_after_the_other", cases::jobs_run_one_after_the_other),
    ("a_killed_training_goes_on_with_the_same_bits", example::killed_and_resumed),
    ("the_loop_of_the_seed_trains_as_the_command_line_does", seed_loop::trains),
    ("the_ddp_tutorial_trains_and_keeps_the_best_weights", tutorial::trains),
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let first = arguments.next();
    if first.as_deref() == Some("--case") {
        let name = arguments.next().unwrap_or_default();
        #[cfg(feature = "mpi")]
        if machines::take_part(&name, &arguments.collect::<Vec<_>>()) {
            return ExitCode::SUCCESS;
        }
        let (_, run) = CASES.iter().find(|(case, _)| *case == name).unwrap();
        run();
        return ExitCode::SUCCESS;
    }
    let wanted = first.filter(|text| !text.starts_with('-')).unwrap_or_default();
    let mut failed = Vec::new();
    for (name, _) in CASES.iter().filter(|(name, _)| name.contains(&wanted)) {
        let begin = Instant::now();
        let program = std::env::current_exe().unwrap();
        let output = Command::new(program).args(["--case", name]).output().unwrap();
        let how = if output.status.success() { "ok" } else { "FAILED" };
        println!("test {name} ... {how} ({:.1} s)", begin.elapsed().as_secs_f64());
        if !output.status.success() {
            failed.push(*name);
            println!("{}", String::from_utf8_lossy(&output.stdout));
            println!("{}", String::from_utf8_lossy(&output.stderr));
        }
    }
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

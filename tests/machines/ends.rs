//! Ends of runs on several machines: failures, kills, interrupts.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use sar::engine::turns::Request;

use super::small_disk::SmallDisk;
use super::{Machines, graph, text, wait_for};

/// An endless run on two machines in its third epoch.
fn endless(folder: &Path) -> Machines {
    let json = graph(folder);
    let out = folder.join("out");
    let all = ["--part-json", text(&json), "--out", text(&out), "--epochs", "1000000"];
    let machines = Machines::start(folder, &[vec![], vec![]], &all);
    for machine in [0, 1] {
        let control = machines.control(machine);
        wait_for("epoch 3", || (control.rank(0).epoch.get() > 2).then_some(()));
    }
    machines
}

#[test]
fn a_full_disk_of_one_machine_ends_all_and_is_named() {
    let Some(disk) = SmallDisk::mount(300 << 10) else { return };
    let folder = tempfile::tempdir().unwrap();
    let json = graph(folder.path());
    let out = folder.path().join("out");
    let all = ["--part-json", text(&json), "--out", text(&out), "--hidden", "256"];
    let all = [&all[..], &["--memory-budget", "min"]].concat();
    let spill = vec![folder.path().join("spill-0"), disk.path().to_owned()];
    let after = Machines::start_in(spill, &[vec![], vec![]], &all).end();
    let error = after.error();
    assert!(error.starts_with("error: machine 1: "), "{error}");
    assert!(error.contains("No space left on device"), "{error}");
    assert_eq!((after.code, disk.entries()), (Some(4), 0), "{}", after.stderr);
    assert!(!out.exists());
}

#[test]
fn a_loss_that_is_no_number_ends_all_machines_with_one_message() {
    let folder = tempfile::tempdir().unwrap();
    let json = graph(folder.path());
    let out = folder.path().join("out");
    let all =
        ["--part-json", text(&json), "--out", text(&out), "--optimizer", "sgd", "--lr", "1e6"];
    let after = Machines::start(folder.path(), &[vec![], vec![]], &all).end();
    let error = after.error();
    assert!(error.contains("in epoch"), "{error}");
    assert_eq!(after.code, Some(3), "{}", after.stderr);
}

/// Seconds of processor time that a process has taken.
fn processor_s(process: Pid) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: f64 = fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap()).sum();
    ticks / rustix::param::clock_ticks_per_second() as f64
}

/// Whether a process is there, and has not only to be reaped.
fn lives(process: Pid) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
    status.is_ok_and(|status| !status.rsplit(')').next().unwrap().starts_with(" Z"))
}

#[test]
fn nothing_runs_on_when_a_launcher_or_mpirun_is_killed() {
    for killed in ["launcher", "mpirun"] {
        let folder = tempfile::tempdir().unwrap();
        let machines = endless(folder.path());
        let processes = machines.processes();
        let mpirun = Pid::from_raw(machines.child.id() as i32).unwrap();
        let process = if killed == "mpirun" { mpirun } else { machines.launcher(1) };
        kill_process(process, Signal::KILL).unwrap();
        let after = machines.end_with_folders();
        assert_ne!(after.code, Some(0), "{killed}:\n{}", after.stderr);
        wait_for("the end of all processes", || {
            processes.iter().all(|process| !lives(*process)).then_some(())
        });
        // The next run removes what is left.
        let json = folder.path().join("graph/g.json");
        let again = ["--part-json", text(&json), "--epochs", "1", "--overwrite", "--out"];
        let out = folder.path().join("out");
        let again = [&again[..], &[text(&out)]].concat();
        let after = Machines::start(folder.path(), &[vec![], vec![]], &again).end();
        assert_eq!(after.code, Some(0), "{killed}:\n{}", after.stderr);
    }
}

#[test]
fn an_interrupt_of_mpirun_ends_all() {
    let folder = tempfile::tempdir().unwrap();
    let machines = endless(folder.path());
    let processes = machines.processes();
    kill_process(Pid::from_raw(machines.child.id() as i32).unwrap(), Signal::INT).unwrap();
    let after = machines.end_soon();
    assert_ne!(after.code, Some(0), "{}", after.stderr);
    assert!(processes.iter().all(|process| !lives(*process)));
}

#[test]
fn a_worker_that_is_killed_ends_all_machines_with_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let machines = endless(folder.path());
    let control = machines.control(1);
    assert_eq!((control.num_ranks(), control.rank(1).number.get()), (2, 3));
    let worker = Pid::from_raw(control.rank(1).process.get() as i32).unwrap();
    kill_process(worker, Signal::KILL).unwrap();
    let after = machines.end_soon();
    let error = after.error();
    assert!(error.starts_with("error: machine 1: rank 3 (process "), "{error}");
    assert!(error.contains("was killed by SIGKILL in epoch"), "{error}");
    assert_eq!(after.code, Some(3), "{}", after.stderr);
}

#[test]
fn an_interrupt_of_one_launcher_ends_all() {
    let folder = tempfile::tempdir().unwrap();
    let machines = endless(folder.path());
    kill_process(machines.launcher(1), Signal::INT).unwrap();
    let after = machines.end_soon();
    assert_eq!(after.error(), "error: interrupted");
    assert_eq!(after.code, Some(130), "{}", after.stderr);
}

#[test]
fn a_launcher_that_waits_takes_hardly_any_processor_time() {
    let folder = tempfile::tempdir().unwrap();
    let machines = endless(folder.path());
    // The ranks of one machine stop, so those of the other wait for them.
    machines.control(0).ask(Request::Pause);
    std::thread::sleep(Duration::from_secs(2));
    let launchers = [0, 1].map(|machine| machines.launcher(machine));
    let share = || {
        let before = launchers.map(processor_s);
        let begin = Instant::now();
        std::thread::sleep(Duration::from_secs(4));
        let seconds = begin.elapsed().as_secs_f64();
        let shares = launchers.map(processor_s).into_iter().zip(before);
        shares.map(|(after, before)| (after - before) / seconds).fold(0.0, f64::max)
    };
    // Everything takes longer while other tests run. Memory is measured in full now and then, and more often at the start.
    let shares: Vec<f64> = (0..5).map(|_| share()).collect();
    let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
    println!("shares of a processor: {shares:?}");
    assert!(least < 0.02, "shares of a processor: {shares:?}");
    machines.control(0).take_back(Request::Pause);
    kill_process(launchers[0], Signal::INT).unwrap();
    assert_eq!(machines.end().code, Some(130));
}

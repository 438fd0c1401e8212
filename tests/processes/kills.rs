//! Any process killed with SIGKILL at any point: the others are gone within two seconds, one message names the dead process,
//! its phase and the signal, and no file stays (or none after the next start, if the launcher itself was killed).

use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use sar::engine::turns::{Control, Phase};

use super::run::{Run, is_running, wait_for};

/// The moment when the victim is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// As soon as it exists.
    Start,
    /// In this phase of an epoch.
    In(Phase),
    /// After this number of microseconds.
    After(u64),
}

fn moments() -> Vec<Moment> {
    let phases = [
        Phase::Loading,
        Phase::Forward(0),
        Phase::Forward(2),
        Phase::Backward(2),
        Phase::Backward(1),
        Phase::GatherGrads,
    ];
    let mut moments = vec![Moment::Start];
    moments.extend(phases.map(Moment::In));
    // Spread over the first tenth of a second, in which everything is set up, and the next.
    moments.extend((0..12).map(|i| Moment::After(i * 17_321)));
    moments
}

fn wait_until(moment: Moment, control: &Control, rank: usize) {
    let status = control.rank(rank);
    match moment {
        Moment::Start => {}
        Moment::In(Phase::Loading) => {
            wait_for("loading", || (status.turns.get() > 0).then_some(()));
        }
        Moment::In(phase) => {
            wait_for("the phase", || {
                (status.epoch.get() > 1 && status.phase() == phase).then_some(())
            });
        }
        Moment::After(micros) => std::thread::sleep(Duration::from_micros(micros)),
    }
}

fn assert_gone_within_two_seconds(pids: &[Pid], since: Instant) {
    wait_for("the end of all processes", || {
        (!pids.iter().any(|pid| is_running(*pid))).then_some(())
    });
    assert!(since.elapsed() < Duration::from_secs(2), "took {:?}", since.elapsed());
}

fn kill_worker(rank: usize, moment: Moment, resident: &str) {
    let run = Run::endless(&["--resident", resident]);
    let control = run.control();
    let workers = run.workers(2);
    wait_until(moment, &control, rank);
    let since = Instant::now();
    kill_process(workers[rank], Signal::KILL).unwrap();
    assert_gone_within_two_seconds(&[workers[0], workers[1], run.launcher()], since);
    let ended = run.end();
    let error = ended.error();
    assert_eq!(ended.code, Some(3), "{moment:?}: {error}");
    let pid = workers[rank].as_raw_nonzero();
    let expected = format!("error: rank {rank} (process {pid}) was killed by SIGKILL ");
    assert!(error.starts_with(&expected), "{moment:?}: {error}");
    let place = if error.contains("while loading") { "while loading" } else { "in epoch " };
    assert!(error.contains(place), "{moment:?}: {error}");
    ended.assert_no_spill_files();
}

#[test]
fn a_killed_worker_ends_the_run_with_one_message() {
    for (i, moment) in moments().into_iter().enumerate() {
        kill_worker(i % 2, moment, if i % 3 == 0 { "2" } else { "1" });
    }
}

#[test]
fn a_killed_launcher_takes_its_workers_along_and_the_next_start_cleans_up() {
    for moment in moments() {
        let run = Run::endless(&[]);
        let control = run.control();
        let workers = run.workers(2);
        wait_until(moment, &control, 0);
        let since = Instant::now();
        run.signal(Signal::KILL);
        assert_gone_within_two_seconds(&workers, since);
        let ended = run.end();
        assert_eq!(ended.code, None);
        let clean = Command::new(env!("CARGO_BIN_EXE_sar-single"))
            .args(["clean", "--spill-dir"])
            .arg(&ended.spill)
            .output()
            .unwrap();
        assert!(clean.status.success());
        assert!(String::from_utf8(clean.stdout).unwrap().starts_with("removed "));
        ended.assert_no_spill_files();
    }
}

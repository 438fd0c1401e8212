//! Ctrl-C and SIGTERM: once, the run stops at its next phase; twice, at once. Either way no file stays.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::run::{Run, is_running, wait_for};

#[test]
fn one_interrupt_stops_at_the_next_phase() {
    for signal in [Signal::INT, Signal::TERM] {
        let run = Run::endless(&[]);
        let control = run.control();
        let workers = run.workers(2);
        wait_for("epoch 3", || (control.rank(0).epoch.get() > 3).then_some(()));
        run.signal(signal);
        let ended = run.end();
        assert_eq!(ended.code, Some(130));
        assert_eq!(ended.error(), "error: interrupted");
        assert!(ended.stderr.contains("stopping at the next phase"), "{}", ended.stderr);
        assert!(!workers.iter().any(|pid| is_running(*pid)));
        ended.assert_no_spill_files();
    }
}

#[test]
fn a_second_interrupt_stops_at_once() {
    let run = Run::endless(&[]);
    let control = run.control();
    let workers = run.workers(2);
    wait_for("epoch 2", || (control.rank(0).epoch.get() > 2).then_some(()));
    // A stopped process reaches no phase: only the second interrupt can end it.
    rustix::process::kill_process(workers[1], Signal::STOP).unwrap();
    run.signal(Signal::INT);
    std::thread::sleep(Duration::from_millis(300));
    assert!(is_running(workers[1]));
    let since = Instant::now();
    run.signal(Signal::INT);
    let ended = run.end();
    assert!(since.elapsed() < Duration::from_secs(1));
    assert_eq!(ended.code, Some(130));
    assert!(!workers.iter().any(|pid| is_running(*pid)));
    ended.assert_no_spill_files();
}

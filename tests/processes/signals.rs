//! SIGINT, SIGTERM and SIGHUP at any moment of any command: exit code 130, and no file stays. Ignored signals stay ignored.

use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::common::{repository, with_default_signals};
use super::run::{Run, wait_for};

const SIGNALS: [Signal; 3] = [Signal::INT, Signal::TERM, Signal::HUP];

fn program() -> Command {
    let mut command = with_default_signals(env!("CARGO_BIN_EXE_sar-single"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Whether a process has begun to hold signals back, or to handle them: the loader takes some milliseconds before it can.
fn handles(child: &Child, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let has = |name: &str| {
        let set = status.lines().find_map(|line| line.strip_prefix(name));
        let set = set.map_or(0, |text| u64::from_str_radix(text.trim(), 16).unwrap());
        set & (1 << (signal.as_raw() - 1)) != 0
    };
    has("SigBlk:") || has("SigCgt:")
}

fn stop(command: &mut Command, signal: Signal, after: Duration) -> (Output, bool) {
    let child = command.spawn().unwrap();
    std::thread::sleep(after);
    let early = !handles(&child, signal);
    // It may have ended on its own.
    let _ = kill_process(Pid::from_child(&child), signal);
    (child.wait_with_output().unwrap(), early)
}

/// Edges for which METIS takes a second or more.
fn edges(path: &Path) {
    let mut file = std::io::BufWriter::new(fs::File::create(path).unwrap());
    let mut random = 7_u64;
    for _ in 0..600_000 {
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % 60_000
        };
        writeln!(file, "{} {}", next(), next()).unwrap();
    }
}

/// Sends signals to a command at many moments. `outputs` may stay only if the command succeeded, `results` in any case.
fn sweep(arguments: &[&str], folder: &Path, outputs: &[&Path], results: &[&Path]) {
    let moments = [0, 3, 40, 150, 260, 330, 400, 480, 600, 900, 1500, 2300];
    for (i, moment) in moments.into_iter().enumerate() {
        let signal = SIGNALS[i % 3];
        // Files of earlier runs do not matter.
        for path in outputs.iter().chain(results).filter(|path| path.exists()) {
            let removed =
                if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
            removed.unwrap();
        }
        let (output, early) =
            stop(program().args(arguments), signal, Duration::from_millis(moment));
        let text = String::from_utf8_lossy(&output.stderr);
        let what =
            format!("{arguments:?}, {signal:?} after {moment} ms: {}: {text}", output.status);
        match (output.status.code(), output.status.signal()) {
            (Some(0), _) => {}
            (None, Some(raw)) if early => assert_eq!(raw, signal.as_raw(), "{what}"),
            (code, _) => {
                assert_eq!(code, Some(130), "{what}");
                assert!(text.contains("error: interrupted"), "{what}");
                for path in outputs {
                    assert!(!path.exists(), "{what}: {} is left", path.display());
                }
            }
        }
        let spill = fs::read_dir(folder.join("spill")).into_iter().flatten().count();
        assert_eq!(spill, 0, "{what}");
        let left = wait_for_end_of_all(folder);
        assert!(left.is_empty(), "{what}: {left:?} still run");
        if output.status.success() {
            // Later moments would see the same.
            break;
        }
    }
}

/// Processes whose arguments name the folder; the kernel kills workers right after their launcher.
fn wait_for_end_of_all(folder: &Path) -> Vec<String> {
    let running = || {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.filter_map(|e| fs::read_to_string(e.path().join("cmdline")).ok());
        let ours = lines.filter(|line| line.contains(folder.to_str().unwrap()));
        ours.collect::<Vec<_>>()
    };
    wait_for("the end of all processes", || running().is_empty().then_some(Vec::new()))
}

#[test]
fn training_planning_and_predicting_stop_at_any_moment() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (spill, out, trained) = (path("spill"), path("out"), path("trained"));
    let karate = repository("data/karate/karate.json");
    let karate = karate.to_str().unwrap();
    let train = ["--part-json", karate, "--spill-dir", &spill, "--hidden", "16"];
    let done = program().args(train).args(["--epochs", "2", "--out", &trained]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let endless = [&train[..], &["--epochs", "1000000", "--out", &out]].concat();
    sweep(&endless, folder.path(), &[], &[out.as_ref()]);
    sweep(&[&["plan"], &train[..]].concat(), folder.path(), &[], &[]);
    let predictions = path("predictions.npy");
    let predict =
        ["predict", "--overwrite", "--run", &trained, "--spill-dir", &spill, "--out", &predictions];
    sweep(&predict, folder.path(), &[predictions.as_ref()], &[]);
}

#[test]
fn partitioning_and_generating_stop_at_any_moment_and_leave_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("edges.txt");
    edges(&input);
    let out = folder.path().join("deep/parts");
    let made = folder.path().join("deep");
    let (input, parts) = (input.to_str().unwrap(), out.to_str().unwrap());
    for method in ["metis", "stream"] {
        let partition = ["partition", "--edges", input, "--num-parts", "8", "--method", method];
        sweep(&[&partition[..], &["--out", parts]].concat(), folder.path(), &[&made], &[]);
    }
    let generate = ["generate", "--nodes", "300000", "--edges", "3000000", "--out", parts];
    sweep(&generate, folder.path(), &[&made], &[]);
    let graph = folder.path().join("graph");
    let large =
        ["generate", "--nodes", "200000", "--edges", "3000000", "--num-parts", "2", "--out"];
    let done = program().args(large).arg(&graph).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let json = graph.join("g.json");
    sweep(&["export", json.to_str().unwrap(), "--out", parts], folder.path(), &[&made], &[]);
    let karate = repository("data/karate/karate.json");
    sweep(&["inspect", karate.to_str().unwrap()], folder.path(), &[], &[]);
}

#[test]
fn an_ignored_signal_stays_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let karate = repository("data/karate/karate.json");
    let (spill, out) = (path("spill"), path("out"));
    let mut command = Command::new("env");
    command.args(["--default-signal=INT,TERM", "--ignore-signal=HUP"]);
    command.arg(env!("CARGO_BIN_EXE_sar-single")).arg("--part-json").arg(karate);
    command.args(["--hidden", "16", "--epochs", "1000000", "--spill-dir", &spill, "--out", &out]);
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let metrics = folder.path().join("out/metrics.jsonl");
    let epochs = || fs::read_to_string(&metrics).unwrap_or_default().lines().count();
    wait_for("epochs", || (epochs() > 3).then_some(()));
    kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    let then = epochs();
    wait_for("more epochs", || (epochs() > then + 20).then_some(()));
    assert!(child.try_wait().unwrap().is_none(), "the run goes on");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_signal_to_all_processes_saves_the_last_complete_epoch() {
    for signal in SIGNALS {
        let run = Run::endless(&[]);
        let metrics = run.out().join("metrics.jsonl");
        let epochs = || fs::read_to_string(&metrics).unwrap_or_default().lines().count();
        wait_for("epochs", || (epochs() > 3).then_some(()));
        // Workers go on until the launcher stops them.
        let signal_workers = || {
            run.workers(2).into_iter().for_each(|worker| kill_process(worker, signal).unwrap());
        };
        signal_workers();
        let then = epochs();
        wait_for("more epochs", || (epochs() > then + 3).then_some(()));
        signal_workers();
        run.signal(signal);
        let ended = run.end();
        assert_eq!(ended.code, Some(130), "{signal:?}: {}", ended.stderr);
        let saved = format!("the run is saved as of epoch {}; resume", epochs());
        assert!(ended.stderr.contains(&saved), "{signal:?}: {saved}: {}", ended.stderr);
    }
}

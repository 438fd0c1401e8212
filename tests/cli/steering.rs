//! A running run is seen, paused and continued, and says as much as it is asked to.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use sar::engine::spill_dir::LivingRun;
use sar::engine::turns::{Activity, Request};
use serde_json::Value;

use super::common::{karate, repository, with_default_signals};

fn sar(words: &str) -> Command {
    let mut command = with_default_signals(env!("CARGO_BIN_EXE_sar-single"));
    command.args(words.split_whitespace());
    command
}

fn on(mut command: Command, folder: &Path) -> Output {
    command.arg(folder).output().unwrap()
}

/// A run whose files are below `folder`.
fn training(graph: &Path, folder: &Path, flags: &str) -> Command {
    let mut command = sar(flags);
    command.arg("--part-json").arg(graph).arg("--out").arg(folder.join("out"));
    command
        .arg("--spill-dir")
        .arg(folder.join("spill"))
        .stderr(Stdio::null())
        .stdout(Stdio::null());
    command
}

/// Waits for something that a running process does.
fn awaited<T>(run: &mut Child, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(run.try_wait().unwrap().is_none(), "the run ended before: {what}");
        assert!(begin.elapsed() < Duration::from_secs(120), "never: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn weights(folder: &Path) -> Vec<u8> {
    fs::read(folder.join("out/model.safetensors")).unwrap()
}

/// Starts a run and pauses it at once.
fn paused(graph: &Path, folder: &Path, flags: &str) -> (Child, LivingRun) {
    let mut run = training(graph, folder, flags).spawn().unwrap();
    let living =
        awaited(&mut run, "the run is found", || LivingRun::find(&folder.join("out")).ok());
    living.control.ask(Request::Pause);
    awaited(&mut run, "it pauses", || living.is_paused().then_some(()));
    (run, living)
}

#[test]
fn a_run_that_is_paused_again_and_again_computes_the_same_bits() {
    let root = tempfile::tempdir().unwrap();
    let alone = root.path().join("alone");
    let mut generate = sar("generate --nodes 60 --edges 400 --num-parts 1 --out");
    assert!(generate.arg(&alone).output().unwrap().status.success());
    let uneven = repository("tests/fixtures/hetero_uneven/g.json");
    for (graph, flags) in [
        (karate(), ""),
        (karate(), "--memory-budget min --model gat"),
        (karate(), "--resident 2 --mfg --patience 99"),
        (karate(), "--mode sample --batch-size 4 --eval-every 2 --eval-fanouts 3,3,3"),
        (karate(), "--mode sample --batch-size 4 --sampler-threads 2"),
        (karate(), "--mode sample --task link --batch-size 32"),
        (uneven.clone(), ""),
        (uneven, "--mode sample --batch-size 4"),
        (alone.join("g.json"), ""),
    ] {
        let flags = format!("--epochs 12 --hidden 8 {flags}");
        let folder = tempfile::tempdir().unwrap();
        let whole = tempfile::tempdir().unwrap();
        assert!(training(&graph, whole.path(), &flags).status().unwrap().success(), "{flags}");
        let (mut run, living) = paused(&graph, folder.path(), &flags);
        let mut pauses = 1;
        loop {
            let ranks = || (0..living.control.num_ranks()).map(|rank| living.control.rank(rank));
            let turns = || ranks().map(|rank| rank.turns.get()).collect::<Vec<_>>();
            let before = turns();
            std::thread::sleep(Duration::from_millis(30));
            assert_eq!(turns(), before, "{flags}: ranks take turns");
            let ended = |a: Activity| a == Activity::Finished;
            living.control.take_back(Request::Pause);
            if ranks().all(|rank| ended(rank.activity())) || pauses == 6 {
                break;
            }
            living.control.ask(Request::Pause);
            pauses += 1;
            let begin = Instant::now();
            while !living.is_paused() && living.is_alive() {
                assert!(begin.elapsed() < Duration::from_secs(60), "{flags}: does not pause");
            }
            if !living.is_alive() {
                break;
            }
        }
        assert!(run.wait().unwrap().success(), "{flags}");
        assert_eq!(weights(folder.path()), weights(whole.path()), "{flags}, {pauses} pauses");
        assert!(pauses > 2, "{flags}: {pauses} pauses");
        assert!(!folder.path().join("spill").exists(), "{flags}");
        let left = fs::read_dir(folder.path().join("out")).unwrap();
        let hidden =
            left.filter(|e| e.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'));
        assert_eq!(hidden.count(), 0, "{flags}");
    }
}

#[test]
fn status_pause_and_continue_find_a_run_by_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let (mut run, living) =
        paused(&karate(), folder.path(), "--epochs 40 --hidden 8 --memory-budget 300MiB");
    let status = text(&on(sar("status"), &out).stdout);
    for part in
        ["epoch ", " of 40, paused", "memory: ", " of 300 MiB, ", "disk: ", " free\n", " paused "]
    {
        assert!(status.contains(part), "{part}: {status}");
    }
    let by_spill_folder = on(sar("status"), living.folder());
    assert!(text(&by_spill_folder.stdout).contains(" of 40, paused"));
    let all = on(sar("status --all --json --spill-dir"), &folder.path().join("spill"));
    let event: Value = serde_json::from_slice(&all.stdout).unwrap();
    assert_eq!(
        (&event["event"], &event["paused"], &event["epochs"]),
        (&"run".into(), &true.into(), &40.into())
    );
    assert_eq!(event["ranks"].as_array().unwrap().len(), 2);
    assert_eq!(event["process"], run.id());

    let again = on(sar("pause"), &out);
    assert!(text(&again.stdout).starts_with("paused: workers hold "), "{}", text(&again.stderr));
    let event: Value = serde_json::from_slice(&on(sar("pause --json"), &out).stdout).unwrap();
    assert_eq!(event["event"], "paused");
    assert_eq!(text(&on(sar("continue"), &out).stdout), "continued\n");
    assert!(run.wait().unwrap().success());

    let done = on(sar("status"), &out);
    assert!(text(&done.stdout).ends_with("out: done, 40 of 40 epochs complete\n"));
    let event: Value = serde_json::from_slice(&on(sar("status --json"), &out).stdout).unwrap();
    assert_eq!([&event["event"], &event["ending"]], ["ended", "done"]);
    assert_eq!(on(sar("status"), folder.path()).status.code(), Some(1));
    for command in ["pause", "continue"] {
        let ended = on(sar(command), &out);
        assert_eq!(ended.status.code(), Some(1), "{command}");
        assert!(
            text(&ended.stderr).contains("no run is using this folder"),
            "{}",
            text(&ended.stderr)
        );
        let unknown = on(sar(command), &folder.path().join("nowhere"));
        assert_eq!(unknown.status.code(), Some(1));
        assert!(
            text(&unknown.stderr).contains("nowhere: cannot be read"),
            "{}",
            text(&unknown.stderr)
        );
    }
    assert_eq!(
        on(sar("status --all --spill-dir"), folder.path()).stdout,
        b"no run is using this folder\n"
    );
}

#[test]
fn a_run_that_is_not_paused_is_not_continued() {
    let folder = tempfile::tempdir().unwrap();
    let (mut run, living) = paused(&karate(), folder.path(), "--epochs 1000000 --hidden 8");
    living.control.take_back(Request::Pause);
    let refused = on(sar("continue"), &folder.path().join("out"));
    assert!(text(&refused.stderr).contains("the run is not paused"), "{}", text(&refused.stderr));
    kill_process(Pid::from_child(&run), Signal::INT).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(130));
}

#[test]
fn a_paused_run_ends_with_its_launcher() {
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        let folder = tempfile::tempdir().unwrap();
        let (mut run, living) = paused(&karate(), folder.path(), "--epochs 1000000 --hidden 8");
        let workers = [0, 1].map(|rank| living.control.rank(rank).process.get());
        kill_process(Pid::from_child(&run), signal).unwrap();
        let status = run.wait().unwrap();
        let begin = Instant::now();
        let lives = |pid: &u32| {
            fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
        };
        while workers.iter().any(lives) {
            assert!(begin.elapsed() < Duration::from_secs(20), "{signal:?}: workers live on");
        }
        if signal == Signal::KILL {
            // The last threads of a worker may still be on their way out.
            while LivingRun::find(&folder.path().join("out")).is_ok() {
                assert!(begin.elapsed() < Duration::from_secs(20), "a dead run is found");
            }
            let clean = on(sar("clean --spill-dir"), &folder.path().join("spill"));
            assert!(text(&clean.stdout).starts_with("removed "));
        } else {
            assert_eq!(status.code(), Some(130), "{signal:?}");
            assert!(!folder.path().join("spill").exists(), "{signal:?}");
            assert!(!folder.path().join("out").exists(), "{signal:?}");
        }
    }
}

#[test]
fn events_are_json_objects_on_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let run = |flags: &str| {
        let mut command = training(&karate(), folder.path(), flags);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap()
    };
    let lines = |output: &Output| -> Vec<Value> {
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let output = run("--json --epochs 3 --hidden 8 --checkpoint-every 2 --patience 2");
    assert_eq!(text(&output.stderr), "");
    let events = lines(&output);
    let kinds: Vec<_> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    let count = |kind: &str| kinds.iter().filter(|k| **k == kind).count();
    assert!(
        count("epoch") >= 2 && count("checkpoint") >= 1 && count("evaluation") == 1,
        "{kinds:?}"
    );
    let last = events.last().unwrap();
    assert_eq!(
        (&last["event"], &last["path"]),
        (&"done".into(), &folder.path().join("out").display().to_string().into())
    );
    let epoch = events.iter().find(|event| event["event"] == "epoch").unwrap();
    assert!(epoch["train_acc_with_dropout"].is_number() && epoch["val_acc"].is_number(), "{epoch}");

    let refused = run("--json --epochs 3");
    assert_eq!(refused.status.code(), Some(1));
    let error = &lines(&refused)[0];
    assert_eq!((&error["event"], &error["exit_code"]), (&"error".into(), &1.into()));
    assert!(
        error["message"].as_str().unwrap().contains("is not empty") && error["hint"].is_string()
    );
    assert!(text(&refused.stderr).starts_with("error: "));

    let quiet = run("--quiet --epochs 3 --overwrite");
    assert_eq!((text(&quiet.stderr).as_str(), text(&quiet.stdout).lines().count()), ("", 1));

    let graph = folder.path().join("graph");
    let made = on(sar("generate --json --nodes 60 --edges 300 --out"), &graph);
    let events = lines(&made);
    assert_eq!(events.last().unwrap()["path"], graph.join("g.json").display().to_string());
    assert!(events.iter().any(|event| event["event"] == "progress"), "{events:?}");
}

#[test]
fn progress_inside_an_epoch_shows_phase_workers_bytes_and_memory() {
    for (flag, parts) in [
        ("--verbose", [" of 2 workers, ", " moved, ", " memory"]),
        ("--json", ["\"event\":\"progress\"", "\"ranks_done\":", "\"memory_bytes\":"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = training(&karate(), folder.path(), "--epochs 1000000 --hidden 8");
        let log = folder.path().join("log");
        let file =
            || Stdio::from(fs::File::options().create(true).append(true).open(&log).unwrap());
        let mut run = command.arg(flag).stderr(file()).stdout(file()).spawn().unwrap();
        let living = awaited(&mut run, "the run is found", || {
            LivingRun::find(&folder.path().join("out")).ok()
        });
        // An epoch that takes long.
        living.control.ask(Request::Pause);
        awaited(&mut run, "progress", || {
            let text = fs::read_to_string(&log).unwrap();
            text.lines().any(|line| parts.iter().all(|part| line.contains(part))).then_some(())
        });
        kill_process(Pid::from_child(&run), Signal::INT).unwrap();
        assert_eq!(run.wait().unwrap().code(), Some(130));
    }
}

#[test]
fn a_page_follows_a_run_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let flags = "--epochs 1000000 --layers 2 --hidden 8";
    let mut run = training(&karate(), folder.path(), flags).spawn().unwrap();
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).ok();
    awaited(&mut run, "an epoch", || read("out/metrics.jsonl").filter(|text| text.contains('\n')));
    let mut watch = sar("report --watch");
    watch.arg(folder.path().join("out")).arg("--out").arg(folder.path().join("page.html"));
    let mut watch = watch.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let reloads = |page: &String| page.contains("http-equiv=\"refresh\"");
    awaited(&mut run, "a page", || read("page.html").filter(reloads));
    kill_process(Pid::from_child(&run), Signal::TERM).unwrap();
    run.wait().unwrap();
    assert!(watch.wait().unwrap().success());
    assert!(!reloads(&read("page.html").unwrap()));
}

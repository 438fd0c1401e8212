//! `--trace`: what all ranks do, for Perfetto and Chrome.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use sar::engine::spill_dir::LivingRun;
use sar::engine::turns::Request;
use serde_json::Value;

use super::common::{epochs, karate, repository, with_default_signals};

/// A command in `folder`.
fn sar(folder: &Path, words: &str) -> Command {
    let mut command = with_default_signals(env!("CARGO_BIN_EXE_sar-single"));
    command.current_dir(folder).args(words.split_whitespace()).stdin(Stdio::null());
    command
}

/// A training in `folder`, with its trace.
fn training(folder: &Path, graph: &Path, words: &str) -> Command {
    let words = format!("--out out --trace trace.json --spill-dir spill --hidden 8 {words}");
    let mut command = sar(folder, &words);
    command.arg("--part-json").arg(graph);
    command
}

fn succeeds(mut command: Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn parsed(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

fn events(folder: &Path) -> Vec<Value> {
    parsed(&fs::read_to_string(folder.join("trace.json")).unwrap())
}

/// A span as nanoseconds.
struct Span<'e> {
    begin: u64,
    end: u64,
    event: &'e Value,
}

/// The spans of each thread of each process, by begin.
fn spans(events: &[Value]) -> BTreeMap<[u64; 2], Vec<Span<'_>>> {
    let mut threads: BTreeMap<[u64; 2], Vec<Span<'_>>> = BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let nanoseconds = |key: &str| (event[key].as_f64().unwrap() * 1000.0).round() as u64;
        let begin = nanoseconds("ts");
        let thread = ["pid", "tid"].map(|key| event[key].as_u64().unwrap());
        let span = Span { begin, end: begin + nanoseconds("dur"), event };
        threads.entry(thread).or_default().push(span);
    }
    for spans in threads.values_mut() {
        spans.sort_by_key(|span| (span.begin, u64::MAX - span.end));
    }
    threads
}

/// Checks that spans of a thread lie in one another or apart, that turns are apart, and that every process and thread has a
/// name.
fn check(events: &[Value], words: &str) {
    let named = |kind: &str, pid: u64, tid: Option<u64>| {
        events.iter().any(|event| {
            let of_thread = tid.is_none_or(|tid| event["tid"] == tid);
            event["name"] == kind && event["pid"] == pid && of_thread
        })
    };
    for ([pid, tid], spans) in spans(events) {
        assert!(named("process_name", pid, None), "{words}: {pid}");
        assert!(named("thread_name", pid, Some(tid)), "{words}: {pid} {tid}");
        let mut open: Vec<u64> = Vec::new();
        for Span { begin, end, event } in spans {
            open.retain(|end| *end > begin);
            assert!(open.last().is_none_or(|around| end <= *around), "{words}: {event}");
            assert!(tid != 0 || open.is_empty(), "{words}: turns at the same time: {event}");
            open.push(end);
        }
    }
}

fn turns(events: &[Value]) -> impl Iterator<Item = &Value> {
    events.iter().filter(|event| event["name"] == "turn")
}

fn sum<'e>(events: impl Iterator<Item = &'e Value>, field: &str) -> u64 {
    events.map(|event| event["args"][field].as_u64().unwrap()).sum()
}

#[test]
fn spans_nest_in_every_mode() {
    let uneven = repository("tests/fixtures/hetero_uneven/g.json");
    for (graph, words) in [
        (karate(), "--model gat --resident 2 --dropout 0.5 --norm batch"),
        (karate(), "--mfg --no-remat"),
        (karate(), "--one-shot"),
        (karate(), "--mode sample --batch-size 4"),
        (karate(), "--mode sample --batch-size 4 --sampler-threads 2"),
        (karate(), "--mode sample --task link --batch-size 32"),
        (uneven.clone(), "--memory-budget min"),
        (uneven, "--mode sample --batch-size 4"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        succeeds(training(folder.path(), &graph, &format!("--epochs 3 {words}")));
        let events = events(folder.path());
        check(&events, words);
        assert!(events.iter().any(|event| event["cat"] == "operation"), "{words}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "{words}: out and the trace");
    }
}

#[test]
fn turns_and_bytes_agree_with_the_metrics() {
    let folder = tempfile::tempdir().unwrap();
    let words = "--epochs 4 --layers 3 --memory-budget min --resident 1";
    succeeds(training(folder.path(), &karate(), words));
    let events = events(folder.path());
    check(&events, words);
    // One rank at a time is resident.
    let mut of_all: Vec<Span<'_>> =
        spans(&events).into_iter().filter(|([_, tid], _)| *tid == 0).flat_map(|(_, s)| s).collect();
    of_all.sort_by_key(|span| span.begin);
    assert!(of_all.windows(2).all(|pair| pair[0].end <= pair[1].begin));
    let ranks: BTreeSet<u64> = turns(&events).map(|turn| turn["pid"].as_u64().unwrap()).collect();
    // In the first epoch, the graph is made ready; the evaluation at the end follows the last one.
    for line in &epochs(&folder.path().join("out"))[1..3] {
        let of_epoch = || turns(&events).filter(|turn| turn["args"]["epoch"] == line["epoch"]);
        for rank in &ranks {
            let numbers: BTreeSet<u64> = of_epoch()
                .filter(|turn| turn["pid"] == *rank)
                .map(|turn| turn["args"]["turn"].as_u64().unwrap())
                .collect();
            // The turn that ends one epoch begins the next one.
            assert_eq!(numbers.len() as u64 - 1, line["lock_turns"].as_u64().unwrap(), "{line}");
        }
        for (of_turns, of_metrics) in [("written", "bytes_written"), ("read", "bytes_read")] {
            // Epochs are alike, so what is counted with the next one is as much as what came from the one before.
            if line["epoch"] == 3 {
                assert_eq!(sum(of_epoch(), of_turns), line[of_metrics].as_u64().unwrap(), "{line}");
            }
        }
    }
    let begin = |event: &Value| event["ts"].as_f64().unwrap();
    let ends = |turn: &Value| begin(turn) + turn["dur"].as_f64().unwrap();
    let writes = |event: &&Value| {
        let name = event["name"].as_str().unwrap();
        // Ranks meet once more after their last turns.
        let is_over = |turn: &Value| turn["pid"] != event["pid"] || ends(turn) <= begin(event);
        (name == "write messages" || name.starts_with("spill ")) && !turns(&events).all(is_over)
    };
    assert_eq!(sum(events.iter().filter(writes), "bytes"), sum(turns(&events), "written"));
}

/// Waits for a run that writes its results to `folder/out`.
fn found(run: &mut Child, folder: &Path) -> LivingRun {
    let begin = Instant::now();
    loop {
        if let Ok(living) = LivingRun::find(&folder.join("out")) {
            return living;
        }
        assert!(run.try_wait().unwrap().is_none(), "the run has ended");
        assert!(begin.elapsed() < Duration::from_secs(120), "no run");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_trace_is_whole_however_the_run_ends() {
    for (who, signal, code) in [
        ("launcher", Signal::INT, Some(130)),
        ("worker", Signal::KILL, Some(3)),
        ("launcher", Signal::KILL, None),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = training(folder.path(), &karate(), "--epochs 1000000");
        let mut run = command.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let living = found(&mut run, folder.path());
        // It is paused and goes on before it ends.
        living.control.ask(Request::Pause);
        while !living.is_paused() {
            assert!(run.try_wait().unwrap().is_none());
            std::thread::sleep(Duration::from_millis(1));
        }
        living.control.take_back(Request::Pause);
        let epochs = living.control.rank(0).epoch.get() + 100;
        while living.control.rank(0).epoch.get() < epochs {
            assert!(run.try_wait().unwrap().is_none());
            std::thread::sleep(Duration::from_millis(1));
        }
        let worker = Pid::from_raw(living.control.rank(1).process.get() as i32).unwrap();
        let pid = if who == "worker" { worker } else { Pid::from_child(&run) };
        kill_process(pid, signal).unwrap();
        assert_eq!(run.wait().unwrap().code(), code);
        let text = fs::read_to_string(folder.path().join("trace.json")).unwrap();
        // Otherwise the end is missing, and a line may be cut off.
        let text =
            if code.is_some() { text } else { format!("{}]", text.rsplit_once(",\n").unwrap().0) };
        let events = parsed(&text);
        check(&events, who);
        assert!(events.iter().any(|event| event["name"] == "paused"), "{who} {signal:?}");
        assert!(turns(&events).count() > 100, "{who} {signal:?}");
    }
}

#[test]
fn resumed_runs_steps_and_predictions_have_traces_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    succeeds(training(folder, &karate(), "--epochs 3 --checkpoint-every 2"));
    let weights = fs::read(folder.join("out/model.safetensors")).unwrap();
    let epochs = |events: &[Value]| -> BTreeSet<u64> {
        turns(events).map(|turn| turn["args"]["epoch"].as_u64().unwrap()).collect()
    };
    assert_eq!(epochs(&events(folder)).last(), Some(&3));
    let config = fs::read_to_string(folder.join("out/config.toml")).unwrap();
    assert!(!config.contains("trace"), "{config}");
    let resumed = "--resume out --epochs 5 --trace trace.json";
    let refused = sar(folder, resumed).output().unwrap();
    let refused = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.contains("trace.json: exists already"), "{refused}");
    // --resume refuses --overwrite.
    assert!(
        refused.contains("or remove this one") && !refused.contains("--overwrite"),
        "{refused}"
    );
    fs::remove_file(folder.join("trace.json")).unwrap();
    succeeds(sar(folder, resumed));
    assert_eq!(epochs(&events(folder)).last(), Some(&5));
    let before = fs::read(folder.join("trace.json")).unwrap();
    succeeds(sar(folder, "--resume out --epochs 6"));
    assert_eq!(fs::read(folder.join("trace.json")).unwrap(), before);

    succeeds(sar(folder, "predict --run out --out p.npy --trace p.json"));
    check(&parsed(&fs::read_to_string(folder.join("p.json")).unwrap()), "predict");

    let step = tempfile::tempdir().unwrap();
    let mut dump = sar(step.path(), "--dump-step step.safetensors --trace trace.json --part-json");
    dump.arg(karate());
    succeeds(dump);
    check(&events(step.path()), "--dump-step");

    // A trace changes nothing.
    let plain = tempfile::tempdir().unwrap();
    let mut command = sar(plain.path(), "--out out --hidden 8 --epochs 3 --part-json");
    command.arg(karate());
    succeeds(command);
    assert_eq!(fs::read(plain.path().join("out/model.safetensors")).unwrap(), weights);
}

#[test]
fn other_files_are_not_replaced_by_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("trace.json");
    fs::write(&notes, "mine").unwrap();
    let output = training(folder.path(), &karate(), "--epochs 1 --overwrite").output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("trace.json: is not a trace, so it is not replaced"), "{error}");
    assert!(error.contains("name another file with --trace"), "{error}");
    assert_eq!(fs::read_to_string(&notes).unwrap(), "mine");
    assert!(!folder.path().join("out").exists());
}

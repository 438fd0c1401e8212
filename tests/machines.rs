//! Runs on several machines, which are processes of one machine here, started by a real mpirun. Built only with the feature `mpi`.
#![allow(clippy::unwrap_used)]

#[path = "common/mpirun.rs"]
mod mpirun;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use sar::engine::turns::Control;

use mpirun::mpirun;

/// Time limit of anything that the tests wait for.
const PATIENCE: Duration = Duration::from_secs(60);

const PROGRAM: &str = env!("CARGO_BIN_EXE_sar-single");

/// A graph in four partitions.
fn graph(folder: &Path) -> PathBuf {
    let out = folder.join("graph");
    let mut command = Command::new(PROGRAM);
    command.args(["generate", "--nodes", "900", "--edges", "9000", "--features", "8"]);
    command.args(["--classes", "4", "--num-parts", "4", "--out"]).arg(&out);
    assert!(command.stdout(Stdio::null()).status().unwrap().success());
    out.join("g.json")
}

/// A run on several machines, with a spill folder each.
struct Machines {
    child: Child,
    spill: Vec<PathBuf>,
}

/// The end of a run.
struct MachinesAfter {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Machines {
    /// Starts a process per list of flags, with flags for all.
    fn start(folder: &Path, each: &[Vec<&str>], all: &[&str]) -> Self {
        let mut command = mpirun();
        let mut spill = Vec::new();
        for (machine, own) in each.iter().enumerate() {
            if machine > 0 {
                command.arg(":");
            }
            let spill_dir = folder.join(format!("spill-{machine}"));
            command.args(["-n", "1", PROGRAM]).args(own).args(all);
            command.arg("--spill-dir").arg(&spill_dir);
            spill.push(spill_dir);
        }
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Machines { child, spill }
    }

    /// The control file of a machine, once it exists.
    fn control(&self, machine: usize) -> Control {
        wait_for("a control file", || {
            let entries = fs::read_dir(&self.spill[machine]).ok()?.flatten();
            let mut runs = entries
                .filter(|entry| entry.file_name().to_string_lossy().starts_with("sar-single-"));
            Control::open(&runs.next()?.path().join("control")).ok()
        })
    }

    /// Waits for the end of mpirun; nothing stays behind.
    fn end(mut self) -> MachinesAfter {
        let status = wait_for("the end of the run", || self.child.try_wait().unwrap());
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        for spill in &self.spill {
            let left: Vec<_> = fs::read_dir(spill).into_iter().flatten().flatten().collect();
            assert!(left.is_empty(), "left behind: {left:?}\n{stderr}");
        }
        MachinesAfter { code: status.code(), stdout, stderr }
    }
}

impl MachinesAfter {
    /// The one error message of all machines.
    fn error(&self) -> &str {
        let mut errors = self.stderr.lines().filter(|line| line.starts_with("error:"));
        assert_eq!(errors.clone().count(), 1, "one error message:\n{}", self.stderr);
        errors.next_back().unwrap()
    }
}

fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begin.elapsed() < PATIENCE, "{what} did not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn any_number_of_machines_gives_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let json = graph(folder.path());
    let samples = ["--mode", "sample", "--fanouts", "5,5", "--layers", "2", "--batch-size", "128"];
    let links = [&samples[..], &["--task", "link"]].concat();
    let modes: [(&str, &[&str]); 4] =
        [("sage", &[]), ("gat", &["--model", "gat"]), ("samples", &samples), ("links", &links)];
    for (name, mode) in modes {
        let out = |machines: usize| folder.path().join(format!("{name}-{machines}"));
        let train = |machines: usize| {
            let (out, step) = (out(machines), out(machines).with_extension("step"));
            let flags = [&["--part-json", text(&json), "--hidden", "16"], mode].concat();
            let run = ["--epochs", "3", "--checkpoint-every", "2", "--out", text(&out)];
            let each = vec![vec![]; machines];
            let after = Machines::start(folder.path(), &each, &[&flags[..], &run].concat()).end();
            assert_eq!(after.code, Some(0), "{}", after.stderr);
            // Only the first machine reports.
            assert_eq!(after.stdout.lines().filter(|line| *line == text(&out)).count(), 1);
            let files = ["model.safetensors", "checkpoint.safetensors"];
            let mut files = files.map(|name| fs::read(out.join(name)).unwrap()).to_vec();
            if !mode.contains(&"--mode") {
                let dump = [&flags[..], &["--dump-step", text(&step)]].concat();
                let after = Machines::start(folder.path(), &each, &dump).end();
                assert_eq!(after.code, Some(0), "{}", after.stderr);
                files.push(fs::read(step).unwrap());
            }
            files
        };
        let alone = train(1);
        for machines in [2, 4] {
            let several = train(machines);
            assert!(several[0] == alone[0], "{name} on {machines}: other weights");
            assert!(several.get(2) == alone.get(2), "{name} on {machines}: another first step");
        }
    }
}

/// A copy of a partition directory with some of its partitions.
fn copy_of(json: &Path, to: &Path, parts: &[usize]) -> PathBuf {
    let from = json.parent().unwrap();
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        let part = name.strip_prefix("part").and_then(|part| part.parse().ok());
        if part.is_none_or(|part: usize| parts.contains(&part)) {
            let copied = Command::new("cp").arg("-r").arg(entry.path()).arg(to).status();
            assert!(copied.unwrap().success());
        }
    }
    to.join(json.file_name().unwrap())
}

#[test]
fn a_machine_needs_its_own_partitions_alone() {
    let folder = tempfile::tempdir().unwrap();
    let json = graph(folder.path());
    let [one, two] = [[0, 3], [1, 2]]
        .map(|parts| copy_of(&json, &folder.path().join(format!("copy-{}", parts[0])), &parts));
    let out = |name: &str| folder.path().join(name);
    let train = |each: &[Vec<&str>], out: &Path, mode: &[&str]| {
        let flags = ["--hidden", "16", "--layers", "2", "--epochs", "2", "--out", text(out)];
        Machines::start(folder.path(), each, &[&flags[..], mode].concat()).end()
    };
    let alone = [vec!["--part-json", text(&json)]];
    let apart = [vec!["--part-json", text(&one)], vec!["--part-json", text(&two)]];
    let samples = ["--mode", "sample", "--fanouts", "5,5", "--batch-size", "64"];
    for (mode, flags) in [("full", &[][..]), ("samples", &samples)] {
        let files = [("alone", &alone[..]), ("apart", &apart)].map(|(name, each)| {
            let out = out(&format!("{mode}-{name}"));
            let after = train(each, &out, flags);
            assert_eq!(after.code, Some(0), "{}", after.stderr);
            let classes = out.join("classes.npy");
            let predict = ["predict", "--run", text(&out), "--out", text(&classes)];
            let each: Vec<Vec<&str>> =
                each.iter().map(|json| [&predict[..], json].concat()).collect();
            let after = Machines::start(folder.path(), &each, &[]).end();
            assert_eq!(after.code, Some(0), "{}", after.stderr);
            [out.join("model.safetensors"), classes].map(|path| fs::read(path).unwrap())
        });
        assert!(files[0] == files[1], "{mode}");
    }
    // Nobody has partitions 1 and 2.
    let each = [vec!["--part-json", text(&one)], vec!["--part-json", text(&one)]];
    let after = train(&each, &out("twice"), &[]);
    assert!(after.error().contains("partition 0: is on machine 0 and on machine 1"));
    assert_eq!(after.code, Some(1), "{}", after.stderr);
    assert!(!out("twice").exists());
}

#[test]
fn questions_about_pairs_have_one_answer_and_each_machine_writes_its_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let json = graph(folder.path());
    let (out, trace) = (path("links"), path("t.json"));
    let flags = ["--part-json", text(&json), "--task", "link", "--mode", "sample", "--layers", "2"];
    let more = ["--fanouts", "5,5", "--batch-size", "512", "--epochs", "1", "--hidden", "8"];
    let to = ["--out", text(&out), "--trace", text(&trace)];
    let run = |machines: usize, flags: &[&str]| {
        let after = Machines::start(folder.path(), &vec![vec![]; machines], flags).end();
        assert_eq!(after.code, Some(0), "{}", after.stderr);
    };
    run(2, &[&flags[..], &more, &to].concat());
    for (name, own, other) in [("t.json", 0, 2), ("t.machine-1.json", 2, 0)] {
        let trace = fs::read_to_string(path(name)).unwrap();
        let events: Vec<serde_json::Value> = serde_json::from_str(&trace).unwrap();
        let of = |rank: u64| events.iter().any(|e| e["pid"] == rank && e["ph"] == "X");
        assert!(of(own) && !of(other), "{name}");
    }
    fs::write(path("pairs.csv"), "0,899\n450,3\n7,7\n").unwrap();
    let pairs = path("pairs.csv");
    for question in [["--top-k", "3"], ["--pairs", text(&pairs)]] {
        let answers = [1, 2, 4].map(|machines| {
            let answer = path(&format!("answer-{machines}{}.csv", question[0]));
            let predict = ["predict", "--run", text(&out), "--out", text(&answer)];
            run(machines, &[&predict[..], &question].concat());
            fs::read(answer).unwrap()
        });
        assert!(answers[0] == answers[1] && answers[0] == answers[2], "{question:?}");
    }
}

#[test]
fn what_does_not_fit_is_one_message() {
    let folder = tempfile::tempdir().unwrap();
    let json = graph(folder.path());
    let out = folder.path().join("out");
    let all = ["--part-json", text(&json), "--out", text(&out), "--epochs", "1"];
    let refused = |each: &[Vec<&str>]| Machines::start(folder.path(), each, &all).end();
    let after = refused(&[vec!["--hidden", "16"], vec!["--hidden", "8"]]);
    assert_eq!(after.error(), "error: machines 0 and 1: differ in configuration");
    let after = refused(&[vec!["--bogus"], vec!["--bogus"]]);
    assert_eq!(after.error(), "error: machine 0: unexpected argument '--bogus' found");
    let after = refused(&[vec![], vec!["--bogus"]]);
    assert_eq!(after.error(), "error: machine 1: unexpected argument '--bogus' found");
    let after = refused(&vec![vec![]; 5]);
    assert!(after.error().contains("has no partition to work on"), "{}", after.stderr);
    // What goes wrong on one machine before it meets the others ends them, too.
    fs::create_dir(&out).unwrap();
    fs::write(out.join("mine"), "").unwrap();
    let after = refused(&[vec![], vec![]]);
    assert!(after.error().contains("is not empty"), "{}", after.stderr);
    assert_eq!(after.code, Some(1), "{}", after.stderr);
}

/// An endless run on two machines in its third epoch.
fn endless(folder: &Path) -> Machines {
    let json = graph(folder);
    let out = folder.join("out");
    let all = ["--part-json", text(&json), "--out", text(&out), "--epochs", "1000000"];
    let machines = Machines::start(folder, &[vec![], vec![]], &all);
    for machine in [0, 1] {
        let control = machines.control(machine);
        wait_for("epoch 3", || (control.rank(0).epoch() > 2).then_some(()));
    }
    machines
}

#[test]
fn a_worker_that_is_killed_ends_all_machines_with_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let machines = endless(folder.path());
    let control = machines.control(1);
    assert_eq!((control.num_ranks(), control.rank(1).number()), (2, 3));
    let worker = Pid::from_raw(control.rank(1).process() as i32).unwrap();
    kill_process(worker, Signal::KILL).unwrap();
    let after = machines.end();
    let error = after.error();
    assert!(error.starts_with("error: machine 1: rank 3 (process "), "{error}");
    assert!(error.contains("was killed by SIGKILL in epoch"), "{error}");
    assert_eq!(after.code, Some(3), "{}", after.stderr);
}

#[test]
fn an_interrupt_of_one_launcher_ends_all() {
    let folder = tempfile::tempdir().unwrap();
    let machines = endless(folder.path());
    let launcher = Pid::from_raw(machines.control(1).run().launcher() as i32).unwrap();
    kill_process(launcher, Signal::INT).unwrap();
    let after = machines.end();
    assert_eq!(after.error(), "error: interrupted");
    assert_eq!(after.code, Some(130), "{}", after.stderr);
}

//! Runs on several machines, which are processes of one machine here, started by a real mpirun. Empty without the feature `mpi`.
#![cfg(all(feature = "mpi", feature = "torch"))]
#![allow(clippy::unwrap_used)]

#[path = "machines/build.rs"]
mod build;
mod common;
#[path = "machines/ends.rs"]
mod ends;
#[path = "common/mpirun.rs"]
mod mpirun;
#[path = "processes/small_disk.rs"]
#[allow(dead_code)] // Other tests use the rest.
mod small_disk;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Pid;
use sar::engine::turns::Control;

use common::epochs;
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

/// The time in which a run ends once something has failed, on a machine that has nothing else to do.
const END: Duration = Duration::from_secs(5);

/// The end of a run.
struct MachinesAfter {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Machines {
    /// Starts a process per list of flags, with flags for all.
    fn start(folder: &Path, each: &[Vec<&str>], all: &[&str]) -> Self {
        let spill = (0..each.len()).map(|machine| folder.join(format!("spill-{machine}")));
        Self::start_in(spill.collect(), each, all)
    }

    /// Like [`start`](Self::start), with these spill folders.
    fn start_in(spill: Vec<PathBuf>, each: &[Vec<&str>], all: &[&str]) -> Self {
        let mut command = mpirun();
        for (machine, (own, spill_dir)) in each.iter().zip(&spill).enumerate() {
            if machine > 0 {
                command.arg(":");
            }
            command.args(["-n", "1", PROGRAM]).args(own).args(all);
            command.arg("--spill-dir").arg(spill_dir);
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

    /// Waits for the end of mpirun, which something has made fail.
    fn end_soon(self) -> MachinesAfter {
        let begin = Instant::now();
        let after = self.end();
        let busy = fs::read_to_string("/proc/loadavg").unwrap();
        let load: f64 = busy.split(' ').next().unwrap().parse().unwrap();
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let limit = END.mul_f64((load / cores).max(1.0));
        assert!(begin.elapsed() < limit, "{:?}:\n{}", begin.elapsed(), after.stderr);
        after
    }

    /// The launcher of a machine.
    fn launcher(&self, machine: usize) -> Pid {
        Pid::from_raw(self.control(machine).run().launcher.get() as i32).unwrap()
    }

    /// All processes: launchers and workers.
    fn processes(&self) -> Vec<Pid> {
        let of_machine = |machine: usize| {
            let control = self.control(machine);
            let ranks: Vec<_> = (0..control.num_ranks())
                .map(|slot| Pid::from_raw(control.rank(slot).process.get() as i32).unwrap())
                .collect();
            ranks.into_iter().chain([self.launcher(machine)])
        };
        (0..self.spill.len()).flat_map(of_machine).collect()
    }

    /// Waits for the end of mpirun; nothing stays behind.
    fn end(self) -> MachinesAfter {
        let spill = self.spill.clone();
        let after = self.end_with_folders();
        for spill in spill {
            let left: Vec<_> = fs::read_dir(spill).into_iter().flatten().flatten().collect();
            assert!(left.is_empty(), "left behind: {left:?}\n{}", after.stderr);
        }
        after
    }

    /// Waits for the end of mpirun, after which folders may be left.
    fn end_with_folders(mut self) -> MachinesAfter {
        let status = wait_for("the end of the run", || self.child.try_wait().unwrap());
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
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
    // No machine has partitions 1 and 2.
    let each = [vec!["--part-json", text(&one)], vec!["--part-json", text(&one)]];
    let after = train(&each, &out("twice"), &[]);
    assert!(after.error().contains("partition 0: is on machine 0 and on machine 1"));
    assert_eq!(after.code, Some(1), "{}", after.stderr);
    assert!(!out("twice").exists());
}

#[test]
fn a_machine_works_on_the_partitions_that_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let json = graph(folder.path());
    let out = |name: &str| folder.path().join(name);
    let train = |name: &str, each: &[Vec<&str>]| {
        let (out, json) = (out(name), text(&json));
        let files = ["--part-json", json, "--out", text(&out)];
        let small = ["--epochs", "3", "--hidden", "8", "--verbose"];
        Machines::start(folder.path(), each, &[&files[..], &small].concat()).end()
    };
    let told = |list: &'static str| vec!["--partitions", list];
    let sent = |name: &str| -> Vec<Option<u64>> {
        epochs(&out(name)).iter().map(|line| line["bytes_sent"].as_u64()).collect()
    };
    let weights = |name: &str| fs::read(out(name).join("model.safetensors")).unwrap();
    assert_eq!(train("alone", &[vec![]]).code, Some(0));
    let uneven = train("uneven", &[told("0,2-3"), told("1")]);
    assert_eq!(uneven.code, Some(0), "{}", uneven.stderr);
    assert!(uneven.stderr.contains(" to other machines"), "{}", uneven.stderr);
    let even = train("even", &[told("0,3"), told("1-2")]);
    assert_eq!(even.code, Some(0), "{}", even.stderr);
    let each = train("each", &["0", "3", "2", "1"].map(told));
    assert_eq!(each.code, Some(0), "{}", each.stderr);
    for name in ["uneven", "even", "each"] {
        assert!(weights(name) == weights("alone"), "{name}");
    }
    let classes = [("alone", vec![vec![]]), ("uneven", vec![told("0,2-3"), told("1")])].map(
        |(name, each)| {
            let (run, classes) = (out("alone"), out(name).join("classes.npy"));
            let predict = ["predict", "--run", text(&run), "--out", text(&classes)];
            let each: Vec<_> = each.iter().map(|told| [&predict[..], told].concat()).collect();
            let after = Machines::start(folder.path(), &each, &[]).end();
            assert_eq!(after.code, Some(0), "{}", after.stderr);
            fs::read(classes).unwrap()
        },
    );
    assert!(classes[0] == classes[1]);
    // The bytes of each epoch are those between ranks of different machines, so one machine per partition sends the most.
    assert_eq!(sent("alone"), [None; 3]);
    let [uneven, even, each] = ["uneven", "even", "each"].map(sent);
    assert!(uneven[1] > Some(0) && uneven[1] == uneven[2], "{uneven:?}");
    assert!(each[1] > even[1] && each[1] > uneven[1], "{each:?} {even:?} {uneven:?}");
    let refused = |each: &[Vec<&str>]| train("none", each).error().to_owned();
    let error = refused(&[told("0-2"), told("2,3")]);
    assert_eq!(error, "error: partition 2: is on machine 0 and on machine 1");
    assert_eq!(refused(&[told("0-2"), vec![]]), error, "half of all, if nothing is told");
    assert_eq!(
        refused(&[told("0"), told("2,3")]),
        "error: partition 1: is on none of the machines"
    );
    let error = refused(&[told("1-3"), told("0")]);
    let first = "error: partition 0: is on machine 1, but the first machine must have it";
    assert_eq!(error, first);
    let error = refused(&[told("0-3"), told("4")]);
    assert_eq!(
        error,
        "error: machine 1: --partitions: there is no partition 4: the graph has 4, from 0 on"
    );
    fs::remove_dir_all(json.parent().unwrap().join("part3")).unwrap();
    let error = refused(&[told("0,3"), told("1-2")]);
    assert!(error.contains("machine 0: --partitions: the files of partition 3 are not here ("));
    assert!(!out("none").exists());
}

/// A graph in two partitions with two edge types, of which the second partition has no edges of one, and no array for it either.
fn without_an_array(folder: &Path) -> PathBuf {
    let path = |name: &str, of_node: &dyn Fn(u32) -> String| {
        let lines = (0..40).map(|node| of_node(node) + "\n");
        fs::write(folder.join(name), lines.collect::<String>()).unwrap();
        folder.join(name)
    };
    let weighted = |src: u32, dst: u32| format!("{src} {dst} {}.5", src % 7);
    let data = |flag: &str, name: &str, path: PathBuf| {
        [flag.to_owned(), format!("{name}={}", path.display())]
    };
    let flags = [
        data("--edges", "a:near:a", path("near", &|i| weighted(i, i % 20))),
        data("--edges", "a:far:a", path("far", &|i| weighted(i, (i * 7 + 3) % 40))),
        ["--edge-columns".to_owned(), "weight".to_owned()],
        data("--node-data", "a/feat", path("feat", &|i| format!("{}.25 {}", i % 5, i % 3))),
        data("--node-data", "a/label", path("label", &|i| (i % 2).to_string())),
        data("--split", "a/train", path("train", &|i| i.to_string())),
        data("--assignment", "a", path("parts", &|i| (i / 20).to_string())),
    ];
    let out = folder.join("graph");
    let mut command = Command::new(PROGRAM);
    command.args(["partition", "--method", "file", "--num-parts", "2"]).args(flags.as_flattened());
    let made = command.arg("--out").arg(&out).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(made.unwrap().success());
    let arrays = out.join("part1/edge_feat.dgl");
    let mut bytes = fs::read(&arrays).unwrap();
    let name = b"a:near:a/weight";
    let at = bytes.windows(name.len()).position(|bytes| bytes == name).unwrap();
    bytes[at + name.len() - 1] = b'x';
    fs::write(arrays, bytes).unwrap();
    out.join("g.json")
}

#[test]
fn a_machine_without_edges_of_a_type_draws_their_features_from_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let json = without_an_array(folder.path());
    let train = |machines: usize| {
        let out = folder.path().join(format!("out-{machines}"));
        let model = "--model gatv2 --edge-features-key weight --hetero sum --layers 2 --hidden 4";
        let how = "--mode sample --fanouts 3,3 --batch-size 8 --epochs 2";
        let mut flags: Vec<&str> = model.split(' ').chain(how.split(' ')).collect();
        flags.extend(["--part-json", text(&json), "--out", text(&out)]);
        let after = Machines::start(folder.path(), &vec![vec![]; machines], &flags).end();
        assert_eq!(after.code, Some(0), "{}", after.stderr);
        fs::read(out.join("model.safetensors")).unwrap()
    };
    assert!(train(1) == train(2));
}

#[test]
fn a_run_goes_on_with_another_number_of_machines() {
    let folder = tempfile::tempdir().unwrap();
    let json = graph(folder.path());
    let out = |name: &str| folder.path().join(name);
    let succeed = |machines: usize, flags: &[&str]| {
        let after = Machines::start(folder.path(), &vec![vec![]; machines], flags).end();
        assert_eq!(after.code, Some(0), "{}", after.stderr);
    };
    let flags = ["--part-json", text(&json), "--hidden", "8", "--checkpoint-every", "1"];
    let (alone, moved) = (out("alone"), out("moved"));
    succeed(1, &[&flags[..], &["--epochs", "4", "--out", text(&alone)]].concat());
    succeed(4, &[&flags[..], &["--epochs", "1", "--out", text(&moved)]].concat());
    for (machines, epochs) in [(2, "2"), (1, "3"), (3, "4")] {
        succeed(machines, &["--resume", text(&moved), "--epochs", epochs]);
    }
    let weights = |out: &Path| fs::read(out.join("model.safetensors")).unwrap();
    assert!(weights(&alone) == weights(&moved));
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

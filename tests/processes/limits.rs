//! Limits of the system: processes, memory, open files, full disks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rustix::process::{Signal, kill_process};

use super::common::repository;
use super::run::{Run, is_running, wait_for};
use super::small_disk::SmallDisk;

/// A control group of version 1; removed when dropped.
struct Group(PathBuf);

impl Group {
    /// Creates a group of this controller; `None`, and a line on the terminal, where this user may not.
    fn make(controller: &str, name: &str) -> Option<Self> {
        let path = Path::new("/sys/fs/cgroup").join(controller);
        let path = path.join(format!("sar-single-{name}-{}", std::process::id()));
        let made = path.parent().is_some_and(|parent| parent.join("cgroup.procs").exists());
        if !made || fs::create_dir(&path).is_err() {
            eprintln!("SKIPPED: no control group of {controller} can be made here");
            return None;
        }
        Some(Group(path))
    }

    fn set(&self, file: &str, value: &str) {
        fs::write(self.0.join(file), value).unwrap();
    }

    /// Runs a shell command in the group.
    fn run(&self, script: &str, arguments: &[&str]) -> Output {
        let script = format!("echo $$ > {}/cgroup.procs && {script}", self.0.display());
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_sar-single")]);
        command.args(arguments).output().unwrap()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Processes that have just ended may still be leaving.
        wait_for("an empty group", || fs::remove_dir(&self.0).ok());
    }
}

/// Flags of a run on a small graph, below a folder.
fn train(folder: &Path) -> Vec<String> {
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let karate = repository("data/karate/karate.json").to_str().unwrap().to_owned();
    let flags = ["--part-json", &karate, "--epochs", "3", "--hidden", "16"];
    let folders = ["--spill-dir", &path("spill"), "--out", &path("out")];
    flags.iter().chain(&folders).map(|flag| (*flag).to_owned()).collect()
}

#[test]
fn a_system_without_another_thread_or_process_is_one_error_with_exit_code_4() {
    let Some(group) = Group::make("pids", "threads") else { return };
    let mut codes = Vec::new();
    for most in 1..14 {
        let folder = tempfile::tempdir().unwrap();
        group.set("pids.max", &most.to_string());
        let flags = train(folder.path());
        let mut flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        flags.extend(["--threads", "3"]);
        let output = group.run("exec \"$@\"", &flags);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let errors = text.lines().filter(|line| line.starts_with("error:")).count();
        codes.push(output.status.code());
        match output.status.code() {
            Some(0) => assert_eq!(errors, 0, "{most}: {text}"),
            code => {
                assert_eq!((code, errors), (Some(4), 1), "{most}: {text}");
                assert!(text.contains("cannot start a "), "{most}: {text}");
            }
        }
        assert_eq!(fs::read_dir(folder.path().join("spill")).into_iter().flatten().count(), 0);
    }
    assert_eq!((codes[0], codes.last()), (Some(4), Some(&Some(0))));
}

#[test]
fn page_cache_counts_as_free_in_a_container() {
    let Some(group) = Group::make("memory", "cache") else { return };
    group.set("memory.limit_in_bytes", "400M");
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let flags = train(folder.path());
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let copy = format!("dd if=/dev/zero of={} bs=1M count=600 conv=fsync", data.display());
    let output = group.run(&format!("{copy} && exec \"$@\""), &flags);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let config = fs::read_to_string(folder.path().join("out/config.toml")).unwrap();
    let budget = config.lines().find_map(|line| line.strip_prefix("memory_budget = ")).unwrap();
    let budget: u64 = budget.trim_matches('"').parse().unwrap();
    assert!((100 << 20..=200 << 20).contains(&budget), "{budget}");
}

#[test]
fn a_worker_that_memory_runs_out_for_is_told_of_as_such() {
    let Some(group) = Group::make("memory", "oom") else { return };
    let folder = tempfile::tempdir().unwrap();
    let graph = folder.path().join("graph");
    let made = Command::new(env!("CARGO_BIN_EXE_sar-single"))
        .args(["generate", "--nodes", "60000", "--edges", "300000", "--num-parts", "2", "--out"])
        .arg(&graph)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    group.set("memory.limit_in_bytes", "250M");
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (json, spill, out) = (path("graph/g.json"), path("spill"), path("out"));
    let flags = ["--part-json", &json, "--spill-dir", &spill, "--out", &out, "--hidden", "1024"];
    let budget = ["--memory-budget", "16GiB", "--epochs", "2"];
    let output = group.run("exec \"$@\"", &[&flags[..], &budget].concat());
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{text}");
    assert!(text.contains("the kernel killed rank "), "{text}");
    assert!(text.contains(": memory ran out in the container, whose limit is 250 MiB"), "{text}");
    assert!(text.contains("the container's limit is 250 MiB"), "{text}");
    assert_eq!(fs::read_dir(&spill).into_iter().flatten().count(), 0);
}

#[test]
fn far_too_many_threads_are_capped_with_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_sar-single"))
        .args(train(folder.path()))
        .args(["--threads", "100000"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("note: 100000 threads were requested; a worker gets "), "{text}");
}

#[test]
fn a_full_disk_is_an_error_before_the_control_file_is_mapped() {
    let Some(disk) = SmallDisk::mount(64 << 10) else { return };
    let fill = disk.path().join("full");
    // Until there is no room for another byte.
    assert!(fs::write(&fill, vec![1; 1 << 20]).is_err());
    let json = repository("data/karate/karate.json");
    let ended = Run::start(&json, &["--spill-dir", disk.path().to_str().unwrap()]).end();
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(ended.error().contains("No space left on device"), "{}", ended.error());
    assert_eq!(disk.entries(), 1);
}

/// Runs commands under a limit of the shell (`-n 20`); each is done, or one error with exit code 4 and this hint. Nothing is left behind.
/// Returns the number of those that are done.
fn limited(limit: &str, hint: &str) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("edges.txt"), "0 1\n1 2\n2 3\n3 0\n".repeat(20_000)).unwrap();
    let graph = repository("data/karate/karate.json").display().to_string();
    let commands = [
        format!("--part-json {graph} --epochs 300 --hidden 512 --spill-dir spill --out run"),
        format!("plan --part-json {graph} --hidden 64 --spill-dir spill"),
        "generate --nodes 20000 --edges 100000 --features 16 --num-parts 8 --out graph".to_owned(),
        "partition --edges edges.txt --num-parts 4 --out parts".to_owned(),
    ];
    let before = fs::read_dir(folder).unwrap().count();
    let is_done = |command: &String| {
        let script = format!("ulimit {limit}; exec \"$0\" {command}");
        let output = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_sar-single")])
            .current_dir(folder)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            for result in ["run", "graph", "parts"] {
                let _ = fs::remove_dir_all(folder.join(result));
            }
            return true;
        }
        assert_eq!(output.status.code(), Some(4), "{limit}: {command}: {text}");
        assert!(text.contains(hint), "{limit}: {command}: {text}");
        // Epochs that are complete stay.
        let _ = fs::remove_dir_all(folder.join("run"));
        let left: Vec<_> = fs::read_dir(folder).unwrap().flatten().collect();
        assert_eq!(left.len(), before, "{limit}: {command}: {left:?}");
        false
    };
    commands.iter().filter(|command| is_done(command)).count()
}

#[test]
fn a_limit_on_the_size_of_files_is_a_short_disk() {
    assert!(limited("-f 100", "ulimit -f") < 4);
}

#[test]
fn a_limit_on_open_files_is_named() {
    let done = [10, 20, 40].map(|files| limited(&format!("-n {files}"), "ulimit -n"));
    assert!(done[0] < 4 && done[2] == 4, "{done:?}");
}

#[test]
fn a_limit_on_processor_time_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let graph = repository("data/karate/karate.json").display().to_string();
    let flags = "--epochs 1000000 --hidden 512 --spill-dir spill --out run";
    let script = format!("ulimit -t 2; exec \"$0\" --part-json {graph} {flags}");
    let output = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_sar-single")])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("allow more than 2 s of processor time (ulimit -t)"), "{text}");
    assert!(!text.contains("dmesg"), "{text}");
}

#[test]
fn a_graph_without_room_is_a_full_disk() {
    let Some(disk) = SmallDisk::mount(1 << 20) else { return };
    let mut generate = Command::new(env!("CARGO_BIN_EXE_sar-single"));
    generate.args(["generate", "--nodes", "100000", "--edges", "100000", "--out"]);
    let output = generate.arg(disk.path().join("graph")).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{text}");
    assert!(text.contains("while it is written, but ") && text.contains("--out"), "{text}");
    assert_eq!(disk.entries(), 0);
}

#[test]
fn an_export_to_a_full_disk_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let graph = folder.path().join("graph");
    let mut generate = Command::new(env!("CARGO_BIN_EXE_sar-single"));
    generate.args([
        "generate",
        "--nodes",
        "20000",
        "--edges",
        "40000",
        "--num-parts",
        "2",
        "--out",
    ]);
    assert!(generate.arg(&graph).status().unwrap().success());
    // Too small for the edges on their way, for the whole, and for what is temporary besides it.
    for size in [100 << 10, 1 << 20, 11 << 18] {
        let Some(disk) = SmallDisk::mount(size) else { return };
        let mut export = Command::new(env!("CARGO_BIN_EXE_sar-single"));
        export.arg("export").arg(graph.join("g.json")).arg("--out").arg(disk.path().join("set"));
        let output = export.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{size}: {text}");
        assert_eq!(disk.entries(), 0, "{size}");
    }
}

#[test]
fn a_folder_that_takes_no_spilled_data_is_named_with_the_flag() {
    let json = repository("data/karate/karate.json");
    let ended = Run::start(&json, &["--spill-dir", "/sys"]).end();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.error().starts_with("error: /sys: nothing can be created in it: "));
    assert!(ended.stderr.contains("name another folder for spilled data with --spill-dir"));
}

#[test]
fn as_many_files_may_be_open_as_the_system_admits_and_workers_go_before_the_launcher() {
    let run = Run::endless(&[]);
    let (launcher, workers) = (run.launcher(), run.workers(2));
    let control = run.control();
    wait_for("an epoch", || (control.rank(0).epoch.get() > 1).then_some(()));
    let read = |pid: rustix::process::Pid, file: &str| {
        fs::read_to_string(format!("/proc/{}/{file}", pid.as_raw_nonzero())).unwrap()
    };
    let limits = read(workers[0], "limits");
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let mut files = files.split_whitespace();
    assert_eq!(files.next(), files.next(), "the soft limit is the hard one");
    let score = |pid| read(pid, "oom_score_adj").trim().parse::<i32>().unwrap();
    assert_eq!(score(workers[0]), (score(launcher) + 300).min(1000));
    run.signal(Signal::TERM);
    assert_eq!(run.end().code, Some(130));
}

#[test]
fn a_stopped_worker_is_told_of_after_half_a_minute() {
    let run = Run::endless(&["--resident", "1"]);
    let control = run.control();
    let workers = run.workers(2);
    wait_for("epoch 2", || (control.rank(0).epoch.get() > 2).then_some(()));
    kill_process(workers[1], Signal::STOP).unwrap();
    std::thread::sleep(std::time::Duration::from_secs(34));
    kill_process(workers[1], Signal::CONT).unwrap();
    let epoch = control.rank(1).epoch.get();
    wait_for("another epoch", || (control.rank(1).epoch.get() > epoch + 1).then_some(()));
    run.signal(Signal::INT);
    let ended = run.end();
    assert_eq!(ended.code, Some(130));
    assert!(!workers.iter().any(|pid| is_running(*pid)));
    let pid = workers[1].as_raw_nonzero();
    let expected =
        format!("note: rank 1 (process {pid}) has been stopped for more than 30 s in epoch");
    let told = ended.stderr.lines().filter(|line| line.contains("rank 1")).collect::<Vec<_>>();
    assert!(told.len() == 1 && told[0].starts_with(&expected), "{told:?}");
}

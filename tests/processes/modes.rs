//! File modes: spilled data and plans are for their owner only, results follow the umask.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::run::wait_for;

/// `sar-single`, with this umask.
fn with_umask(umask: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "umask \"$0\"; exec \"$@\"", umask]);
    command.arg(env!("CARGO_BIN_EXE_sar-single")).args(arguments);
    command
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// All files and folders that still exist below a folder, with their modes.
fn modes(folder: &Path) -> Vec<(PathBuf, bool, u32)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        found.push((path.clone(), metadata.is_dir(), metadata.mode() & 0o777));
        if metadata.is_dir() {
            found.extend(modes(&path));
        }
    }
    found
}

/// Checks everything in the spill folder until `enough`; returns the largest number of files seen.
fn watch(spill: &Path, child: &mut Child, mut enough: impl FnMut() -> bool) -> usize {
    let mut most = 0;
    wait_for("enough of the command", || {
        let found = modes(spill);
        for (path, is_folder, mode) in &found {
            // The folder of a rank lies in the run's folder, which no other user can enter.
            let inside = path.parent() != Some(spill) && *is_folder;
            let private = *mode == if *is_folder { 0o700 } else { 0o600 };
            assert!(private || inside, "{}: {mode:o}", path.display());
        }
        most = most.max(found.iter().filter(|(_, is_folder, _)| !is_folder).count());
        (enough() || child.try_wait().unwrap().is_some()).then_some(())
    });
    most
}

/// Checks that results have the modes that any program's files have.
fn assert_follows(umask: u32, folder: &Path) {
    let found = modes(folder);
    assert!(!found.is_empty(), "{}", folder.display());
    for (path, is_folder, mode) in found {
        let usual = if is_folder { 0o777 } else { 0o666 } & !umask;
        assert_eq!(mode, usual, "{}: {mode:o} instead of {usual:o}", path.display());
    }
}

#[test]
fn spilled_data_are_private_and_results_follow_the_umask() {
    let root = tempfile::tempdir().unwrap();
    let full: &[&str] = &["--model", "gat", "--checkpoint-every", "1"];
    let sampled: &[&str] = &["--mode", "sample", "--fanouts", "3,3", "--batch-size", "4"];
    for (umask, bits, flags) in [("000", 0, full), ("000", 0, sampled), ("077", 0o077, full)] {
        let folder = root.path().join(format!("{umask}-{}", flags[1]));
        fs::create_dir(&folder).unwrap();
        let (graph, out, spill) = (folder.join("graph"), folder.join("out"), folder.join("spill"));
        let generate =
            ["generate", "--nodes", "300", "--edges", "3000", "--num-parts", "3", "--out"];
        let generate = with_umask(umask, &generate).arg(&graph).output().unwrap();
        assert!(generate.status.success());
        assert_follows(bits, &graph);

        let json = graph.join("g.json");
        let run = ["--part-json", text(&json), "--out", text(&out), "--spill-dir", text(&spill)];
        let mut training = with_umask(umask, &run);
        training.args(["--layers", "2", "--hidden", "16", "--epochs", "1000000"]);
        training.args(["--memory-budget", "min"]).args(flags);
        let training = training.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = training.spawn().unwrap();
        let metrics = out.join("metrics.jsonl");
        let enough = || fs::read_to_string(&metrics).is_ok_and(|text| text.lines().count() > 5);
        let files = watch(&spill, &mut child, enough);
        // The control file, and the files that ranks spill and send.
        assert!(files > 2, "{files} files");
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));

        let mut training = with_umask(umask, &run);
        training.args(["--layers", "2", "--hidden", "16", "--epochs", "2"]).args(flags);
        fs::remove_dir_all(&out).unwrap();
        assert!(training.output().unwrap().status.success());
        let classes = folder.join("classes.npy");
        let predict = ["predict", "--run", text(&out), "--out", text(&classes)];
        assert!(with_umask(umask, &predict).output().unwrap().status.success());
        assert_follows(bits, &out);
        assert_follows(bits, classes.parent().unwrap());
    }
}

#[test]
fn partitions_of_a_users_files_follow_the_umask() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("edges.csv"), "a,b\nb,c\nc,a\n").unwrap();
    let edges = folder.path().join("edges.csv");
    for (umask, bits) in [("000", 0), ("077", 0o077)] {
        let out = folder.path().join(umask);
        let arguments =
            ["partition", "--num-parts", "2", "--node-ids", "string", "--edges", text(&edges)];
        let output = with_umask(umask, &arguments).arg("--out").arg(&out).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_follows(bits, &out);
    }
}

#[test]
fn a_plan_is_private_and_one_that_was_killed_is_removed() {
    let root = tempfile::tempdir().unwrap();
    let (graph, spill) = (root.path().join("graph"), root.path().join("spill"));
    let generate =
        ["generate", "--nodes", "30000", "--edges", "300000", "--num-parts", "4", "--out"];
    assert!(with_umask("000", &generate).arg(&graph).output().unwrap().status.success());
    let json = graph.join("g.json");
    let plan = ["plan", "--part-json", text(&json), "--spill-dir", text(&spill)];
    let start = || {
        let mut command = with_umask("000", &plan);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut child = start();
    let files = watch(&spill, &mut child, || false);
    assert!(files > 10, "{files} files");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!spill.exists());

    let mut child = start();
    watch(&spill, &mut child, || modes(&spill).len() > 10);
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    let clean = ["clean", "--spill-dir", text(&spill)];
    wait_for("the end of the workers", || {
        let cleaned = with_umask("000", &clean).output().unwrap();
        assert!(cleaned.status.success());
        fs::read_dir(&spill).unwrap().next().is_none().then_some(())
    });
}

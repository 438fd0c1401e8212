//! Outputs without a reader: standard error is closed, full, or a terminal that is gone. Commands continue to their end.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal};

use super::common::{repository, with_default_signals};

/// A standard error that refuses to be written to.
#[derive(Clone, Copy, Debug)]
enum Deaf {
    /// A pipe without a reader: EPIPE.
    Pipe,
    /// A full disk: ENOSPC.
    Full,
    /// `2>&-`.
    Closed,
}

const DEAF: [Deaf; 3] = [Deaf::Pipe, Deaf::Full, Deaf::Closed];

fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").unwrap().into()
}

fn unread_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    OwnedFd::from(writer).into()
}

fn sar() -> Command {
    with_default_signals(env!("CARGO_BIN_EXE_sar-single"))
}

/// A short run on karate.
fn training(folder: &Path) -> Command {
    let mut command = sar();
    command.arg("--part-json").arg(repository("data/karate/karate.json"));
    command.args(["--epochs", "3", "--hidden", "8"]);
    command.arg("--out").arg(folder.join("out")).arg("--spill-dir").arg(folder.join("spill"));
    command
}

/// Runs a command with a broken standard error, and captures its standard output.
fn unheard(command: &mut Command, deaf: Deaf) -> (ExitStatus, String) {
    let output = match deaf {
        Deaf::Pipe => command.stderr(unread_pipe()).output(),
        Deaf::Full => command.stderr(full()).output(),
        Deaf::Closed => {
            let mut shell = Command::new("sh");
            shell.args(["-c", "exec \"$0\" \"$@\" 2>&-"]);
            shell.arg(command.get_program()).args(command.get_args()).output()
        }
    };
    let output = output.unwrap();
    (output.status, String::from_utf8(output.stdout).unwrap())
}

fn assert_empty(folder: &Path) {
    let left: Vec<_> = std::fs::read_dir(folder).into_iter().flatten().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_run_goes_on_to_its_end() {
    for deaf in DEAF {
        let folder = tempfile::tempdir().unwrap();
        let (status, stdout) = unheard(&mut training(folder.path()), deaf);
        assert_eq!(status.code(), Some(0), "{deaf:?}");
        assert_eq!(stdout, format!("{}\n", folder.path().join("out").display()));
        assert!(folder.path().join("out/model.safetensors").exists(), "{deaf:?}");
        assert_empty(&folder.path().join("spill"));
    }
}

#[test]
fn commands_that_tell_what_they_did_go_on_to_their_end() {
    for deaf in DEAF {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let mut generate = sar();
        generate.args(["generate", "--nodes", "40", "--edges", "200", "--out"]);
        assert_eq!(unheard(generate.arg(folder.join("g")), deaf).0.code(), Some(0), "{deaf:?}");
        std::fs::write(folder.join("edges.csv"), "0,1\n1,2\n2,0\n").unwrap();
        let mut partition = sar();
        partition.args(["partition", "--num-parts", "1", "--edges"]).arg(folder.join("edges.csv"));
        let partition = partition.arg("--out").arg(folder.join("p"));
        assert_eq!(unheard(partition, deaf).0.code(), Some(0), "{deaf:?}");
    }
}

#[test]
fn a_failure_keeps_its_exit_code() {
    for deaf in DEAF {
        let folder = tempfile::tempdir().unwrap();
        let mut refused = training(folder.path());
        let (status, _) = unheard(refused.args(["--features-key", "nope"]), deaf);
        assert_eq!(status.code(), Some(1), "{deaf:?}");
        assert_empty(&folder.path().join("spill"));
        assert_eq!(unheard(sar().arg("--nope"), deaf).0.code(), Some(2), "{deaf:?}");
    }
}

#[test]
fn a_reader_that_takes_one_line_ends_no_run() {
    let folder = tempfile::tempdir().unwrap();
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut command = training(folder.path());
    command.stdout(OwnedFd::from(writer.try_clone().unwrap())).stderr(OwnedFd::from(writer));
    let mut child = command.spawn().unwrap();
    // The command also holds the pipe.
    drop(command);
    reader.read_exact(&mut [0]).unwrap();
    drop(reader);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(folder.path().join("out/model.safetensors").exists());
    assert_empty(&folder.path().join("spill"));
}

#[test]
fn an_interrupted_run_removes_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = training(folder.path());
    command.args(["--epochs", "1000000"]).stdout(Stdio::null()).stderr(unread_pipe());
    let mut child = command.spawn().unwrap();
    let metrics = folder.path().join("out/metrics.jsonl");
    let begin = std::time::Instant::now();
    while std::fs::read_to_string(&metrics).unwrap_or_default().lines().count() < 2 {
        assert!(begin.elapsed() < std::time::Duration::from_secs(60), "no epoch");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    rustix::process::kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_empty(&folder.path().join("spill"));
}

#[test]
fn a_terminal_that_is_gone_ends_no_run() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = terminal();
    let mut command = training(folder.path());
    let mut child = command.stdout(Stdio::null()).stderr(theirs).spawn().unwrap();
    drop(command);
    // The first text that it draws.
    (&ours).read_exact(&mut [0]).unwrap();
    drop(ours);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(folder.path().join("out/model.safetensors").exists());
    assert_empty(&folder.path().join("spill"));
}

/// A new terminal: the side of the window, and the side of programs.
fn terminal() -> (File, OwnedFd) {
    use std::os::fd::FromRawFd;
    let (mut ours, mut theirs) = (-1, -1);
    let null = std::ptr::null_mut();
    // SAFETY: both places are valid, and the other arguments may be null.
    let made =
        unsafe { libc::openpty(&raw mut ours, &raw mut theirs, null, null.cast(), null.cast()) };
    assert_eq!(made, 0);
    // SAFETY: openpty has just returned both, and they have no other owner.
    let (ours, theirs) = unsafe { (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
    // A child that held our side would keep the window open.
    rustix::io::fcntl_setfd(&ours, rustix::io::FdFlags::CLOEXEC).unwrap();
    (ours, theirs)
}

#[test]
fn results_that_cannot_be_printed_are_an_error_but_a_reader_that_has_left_is_not() {
    let commands: [&[&str]; 2] = [&["--help"], &["clean", "--spill-dir", "/proc/self"]];
    for arguments in commands {
        let output = sar().args(arguments).stdout(full()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{arguments:?}: {stderr}");
        assert!(stderr.starts_with("error: cannot write standard output: "), "{stderr}");
        assert!(stderr.contains("or redirect standard output") && !stderr.contains("--out"));
        let output = sar().args(arguments).stdout(unread_pipe()).output().unwrap();
        assert_eq!((output.status.code(), output.stderr), (Some(0), vec![]), "{arguments:?}");
    }
}

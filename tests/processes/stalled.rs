//! Readers that do not read: a full pipe, a terminal that Ctrl-S has stopped. They hold up no work and no end, and lose no result.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::common::{repository, with_default_signals};
use super::run::wait_for;

/// A stream that takes nothing, with the end for its reader.
struct Stalled {
    reader: OwnedFd,
    stream: OwnedFd,
}

impl Stalled {
    /// A pipe without room.
    fn pipe() -> Self {
        let (reader, writer) = std::io::pipe().unwrap();
        let (reader, stream) = (OwnedFd::from(reader), OwnedFd::from(writer));
        rustix::pipe::fcntl_setpipe_size(&stream, 4096).unwrap();
        rustix::io::ioctl_fionbio(&stream, true).unwrap();
        while rustix::io::write(&stream, &[b'-'; 64]).is_ok() {}
        rustix::io::ioctl_fionbio(&stream, false).unwrap();
        Stalled { reader, stream }
    }

    /// A terminal that is stopped.
    fn terminal() -> Self {
        let (mut ours, mut theirs) = (-1, -1);
        let null = std::ptr::null_mut();
        // SAFETY: both places are valid, and the other arguments may be null.
        let made = unsafe {
            libc::openpty(&raw mut ours, &raw mut theirs, null, null.cast(), null.cast())
        };
        assert_eq!(made, 0);
        // SAFETY: openpty has just returned both, and they have no other owner.
        let [reader, stream] = [ours, theirs].map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
        rustix::io::fcntl_setfd(&reader, rustix::io::FdFlags::CLOEXEC).unwrap();
        // Ctrl-S
        rustix::io::write(&reader, b"\x13").unwrap();
        Stalled { reader, stream }
    }

    fn stdio(&self) -> Stdio {
        self.stream.try_clone().unwrap().into()
    }
}

fn sar() -> Command {
    let mut command = with_default_signals(env!("CARGO_BIN_EXE_sar-single"));
    command.stdin(Stdio::null());
    command
}

fn words(command: &mut Command, text: &str, folder: &Path) -> Child {
    command.current_dir(folder).args(text.split_whitespace()).spawn().unwrap()
}

fn end(child: &mut Child) -> ExitStatus {
    wait_for("the end of the program", || child.try_wait().unwrap())
}

fn training(epochs: u32) -> String {
    let graph = repository("data/karate/karate.json");
    let graph = graph.display();
    format!("--part-json {graph} --hidden 8 --epochs {epochs} --spill-dir spill --out out")
}

fn assert_no_spill_files(folder: &Path) {
    assert_eq!(fs::read_dir(folder.join("spill")).into_iter().flatten().count(), 0);
}

#[test]
fn work_goes_on_to_its_end_and_prints_its_result() {
    for stalled in [Stalled::pipe(), Stalled::terminal()] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::write(folder.join("edges.txt"), "0 1\n1 2\n2 0\n").unwrap();
        let commands = [
            (training(30), "out\n"),
            ("predict --run out --out p.csv".to_owned(), "p.csv\n"),
            ("plan --hidden 8 --part-json ".to_owned() + &graph(), ""),
            ("report out --out r.html".to_owned(), "r.html\n"),
            ("generate --nodes 40 --edges 99 --out g".to_owned(), "g.json\n"),
            ("partition --edges edges.txt --num-parts 1 --out p".to_owned(), "g.json\n"),
        ];
        for (text, result) in commands {
            let mut command = sar();
            command.stderr(stalled.stdio()).stdout(Stdio::piped());
            let mut child = words(&mut command, &text, folder);
            assert_eq!(end(&mut child).code(), Some(0), "{text}");
            let mut output = String::new();
            child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
            assert!(output.ends_with(result) && !output.is_empty(), "{text}: {output}");
        }
        assert_no_spill_files(folder);
    }
}

fn graph() -> String {
    repository("data/karate/karate.json").display().to_string()
}

/// Waits until a run has completed some epochs with both streams stalled.
fn stalled_run(stalled: &Stalled, folder: &Path) -> Child {
    let mut command = sar();
    command.stdout(stalled.stdio()).stderr(stalled.stdio());
    let child = words(&mut command, &training(1_000_000), folder);
    let metrics = folder.join("out/metrics.jsonl");
    let epochs = || fs::read_to_string(&metrics).unwrap_or_default().lines().count();
    wait_for("epochs", || (epochs() > 20).then_some(()));
    child
}

#[test]
fn signals_end_a_run_and_save_it() {
    for signal in [Signal::INT, Signal::TERM] {
        for stalled in [Stalled::pipe(), Stalled::terminal()] {
            let folder = tempfile::tempdir().unwrap();
            let mut child = stalled_run(&stalled, folder.path());
            kill_process(Pid::from_child(&child), signal).unwrap();
            assert_eq!(end(&mut child).code(), Some(130), "{signal:?}");
            assert!(folder.path().join("out/checkpoint.safetensors").exists());
            assert_no_spill_files(folder.path());
        }
    }
}

#[test]
fn a_killed_worker_ends_a_run() {
    let stalled = Stalled::pipe();
    let folder = tempfile::tempdir().unwrap();
    let mut child = stalled_run(&stalled, folder.path());
    let launcher = child.id();
    let children = fs::read_to_string(format!("/proc/{launcher}/task/{launcher}/children"));
    let worker = children.unwrap().split_whitespace().next().unwrap().parse().unwrap();
    kill_process(Pid::from_raw(worker).unwrap(), Signal::KILL).unwrap();
    assert_eq!(end(&mut child).code(), Some(3));
    assert_no_spill_files(folder.path());
}

#[test]
fn signals_end_a_command_whose_result_is_not_read() {
    for text in ["inspect ".to_owned() + &graph(), "completions bash".to_owned()] {
        for stalled in [Stalled::pipe(), Stalled::terminal()] {
            let folder = tempfile::tempdir().unwrap();
            let mut command = sar();
            command.stdout(stalled.stdio()).stderr(Stdio::null());
            let mut child = words(&mut command, &text, folder.path());
            // A thread waits for the reader.
            let tasks = format!("/proc/{}/task", child.id());
            let names = || {
                let tasks = fs::read_dir(&tasks).into_iter().flatten().flatten();
                let names = tasks.map(|task| fs::read_to_string(task.path().join("comm")));
                names.filter_map(Result::ok).collect::<String>()
            };
            wait_for("the result", || names().contains("console").then_some(()));
            kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
            assert_eq!(end(&mut child).code(), Some(130), "{text}");
        }
    }
}

#[test]
fn a_slow_reader_gets_the_whole_result() {
    let expected = sar().args(["completions", "bash"]).output().unwrap();
    assert!(expected.status.success() && expected.stdout.len() > 1 << 13);
    let Stalled { reader, stream } = Stalled::pipe();
    let mut command = sar();
    command.stdout(stream).stderr(Stdio::piped()).args(["completions", "bash"]);
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut reader = File::from(reader);
    let (mut output, mut part) = (Vec::new(), [0; 1000]);
    loop {
        match reader.read(&mut part).unwrap() {
            0 => break,
            count => output.write_all(&part[..count]).unwrap(),
        }
        std::thread::yield_now();
    }
    assert!(end(&mut child).success());
    let filled = output.iter().take_while(|byte| **byte == b'-').count();
    assert!(output[filled..] == expected.stdout[..], "{} bytes", output.len() - filled);
}

//! Files that commands write: one set of rules for all of them.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use predicates::str::{contains, is_empty};
use rustix::process::{Pid, Signal, kill_process};

use super::common::{repository, with_default_signals};
use super::program::sar;

fn trained(folder: &Path) {
    let json = repository("data/karate/karate.json");
    let train = format!("--part-json {} --layers 2 --hidden 4 --epochs 1", json.display());
    sar(folder, &format!("{train} --out run")).success();
}

/// Commands that write a file, each with the flag that names it.
const COMMANDS: [&str; 5] = [
    "predict --run run --out FILE --format csv",
    "predict --run run --out FILE --format npy",
    "predict --run run --out FILE --format parquet",
    "correct-and-smooth --run run --out FILE --format safetensors",
    "report run --out FILE",
];

#[test]
fn existing_files_go_only_if_the_user_says_so_and_links_stay() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    trained(folder);
    for command in COMMANDS {
        let (target, link) = (folder.join("target"), folder.join("link"));
        symlink("target", &link).unwrap();
        let command = command.replace("FILE", "link");
        sar(folder, &command).success().stdout("link\n");
        let written = fs::read(&target).unwrap();
        fs::write(&target, "mine").unwrap();
        let hint = "name another file with --out, or replace it with --overwrite";
        sar(folder, &command).code(1).stderr(contains("exists already")).stderr(contains(hint));
        assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
        sar(folder, &format!("{command} --overwrite")).success();
        assert!(fs::read(&target).unwrap() == written, "{command}");
        assert!(link.is_symlink());
        fs::remove_file(&target).unwrap();
        fs::remove_file(&link).unwrap();
        sar(folder, &command.replace("link", "run")).code(1).stderr(contains("is a folder"));
    }
    let left: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()).collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn standard_output_pipes_and_devices_get_the_bytes_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    trained(folder);
    let fifo = folder.join("fifo");
    let mode = rustix::fs::Mode::from(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    for command in COMMANDS {
        let to = |place: &str| command.replace("FILE", place);
        sar(folder, &to("plain")).success();
        let plain = fs::read(folder.join("plain")).unwrap();
        fs::remove_file(folder.join("plain")).unwrap();
        for place in ["-", "/dev/stdout", "/proc/self/fd/1"] {
            let written = sar(folder, &to(place)).success();
            assert!(written.get_output().stdout == plain, "{command} to {place}");
        }
        sar(folder, &to("/dev/null")).success();
        sar(folder, &to("/dev/full")).code(4);
        let reader = std::thread::spawn({
            let fifo = fifo.clone();
            move || fs::read(fifo).unwrap()
        });
        sar(folder, &to("fifo")).success();
        assert!(reader.join().unwrap() == plain, "{command}");
        assert!(fs::symlink_metadata(&fifo).unwrap().file_type().is_fifo());
        sar(folder, &format!("{} --json", to("-"))).code(1).stderr(contains("--json"));
    }
    assert_eq!(fs::read_dir(folder).unwrap().count(), 2);
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    // Text is what a pipe without an ending gets.
    sar(folder, "predict --run run --out -").success().stdout(contains("node,class\n"));
    sar(folder, "--dump-step - --part-json g.json").code(1).stdout(is_empty());
}

/// A FIFO that nothing reads, and one whose reader has stopped.
#[test]
fn a_signal_ends_a_command_that_waits_for_a_reader() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    sar(folder, "generate --nodes 20000 --edges 20000 --num-parts 1 --out g").success();
    sar(folder, "--part-json g/g.json --layers 1 --epochs 1 --out run").success();
    let fifo = folder.join("fifo");
    let mode = rustix::fs::Mode::from(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    for stalled in [false, true] {
        let mut command = with_default_signals(env!("CARGO_BIN_EXE_sar-single"));
        command.current_dir(folder).args(["predict", "--run", "run", "--out", "fifo"]);
        command.args(["--output", "probabilities"]).stderr(Stdio::null());
        let mut running = command.spawn().unwrap();
        let mut reader = stalled.then(|| fs::File::open(&fifo).unwrap());
        if let Some(reader) = &mut reader {
            reader.read_exact(&mut [0; 10]).unwrap();
        } else {
            // The spill folder is gone when only the table is left to be written.
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_millis(300) {
                assert!(running.try_wait().unwrap().is_none(), "it waits for a reader");
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        kill_process(Pid::from_child(&running), Signal::INT).unwrap();
        assert_eq!(running.wait().unwrap().code(), Some(130), "stalled: {stalled}");
    }
}

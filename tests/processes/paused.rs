//! A run that is paused while its disk is full.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use sar::engine::spill_dir::LivingRun;
use sar::platform::free_space;

use super::run::{Run, wait_for};
use super::small_disk::SmallDisk;

/// Bytes that stay free.
const LEFT: u64 = 100 << 10;

fn sar(words: &str) -> Command {
    let mut command = Command::cargo_bin("sar-single").unwrap();
    command.args(words.split_whitespace());
    command
}

/// Keeps the disk full until the run has ended: a run with several partitions also gives space back, with its messages.
fn fill(disk: &Path, run: &LivingRun) {
    let mut file = File::create(disk.join("another program's file")).unwrap();
    let began = Instant::now();
    while run.control.stopped().is_none() && began.elapsed() < Duration::from_secs(60) {
        let free = free_space(disk).unwrap().saturating_sub(LEFT);
        match file.write_all(&vec![0; free as usize]) {
            // The run has taken more meanwhile, so the disk is full as well.
            Err(e) if e.kind() == ErrorKind::StorageFull => {}
            written => written.unwrap(),
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// With one partition there are no messages; with four, they wait in outboxes while the run is paused.
#[test]
fn a_pause_without_room_on_the_disk_ends_a_run_that_can_be_resumed() {
    for parts in [1, 4] {
        let Some(disk) = SmallDisk::mount(64 << 20) else { return };
        let spill = disk.path();
        let folder = tempfile::tempdir().unwrap();
        let generate = format!("generate --nodes 20000 --edges 200000 --num-parts {parts} --out");
        sar(&generate).arg(folder.path()).assert().success();
        let graph = folder.path().join("g.json");
        let flags = ["--checkpoint-every", "1", "--memory-budget", "4GiB", "--spill-dir"];
        let run = Run::start(&graph, &[&flags[..], &[spill.to_str().unwrap()]].concat());
        let out = run.out();
        let living = wait_for("a run", || LivingRun::find(&out).ok());
        let epoch = || living.control.rank(0).epoch.get();
        wait_for("three epochs", || (epoch() > 3).then_some(()));
        let said = thread::scope(|scope| {
            scope.spawn(|| fill(spill, &living));
            let is_full = || free_space(spill).is_some_and(|free| free <= LEFT);
            wait_for("a full disk", || {
                (is_full() || living.control.stopped().is_some()).then_some(())
            });
            let paused = sar("pause").arg(&out).assert().failure().code(1);
            String::from_utf8_lossy(&paused.get_output().stderr).into_owned()
        });
        assert!(
            said.contains("the run ended before") || said.contains("no run is using"),
            "{said}"
        );
        let ended = run.end();
        assert_eq!(ended.code, Some(4), "{parts}: {}", ended.stderr);
        assert!(ended.stderr.contains("No space left on device"), "{parts}: {}", ended.stderr);
        assert_eq!(disk.entries(), 1, "{parts}: the other program's file is left");

        fs::remove_file(spill.join("another program's file")).unwrap();
        let metrics = fs::read_to_string(out.join("metrics.jsonl")).unwrap();
        let epochs = metrics.lines().count() + 1;
        sar(&format!("--epochs {epochs} --resume")).arg(&out).assert().success();
        let resumed = fs::read(out.join("model.safetensors")).unwrap();
        let whole = folder.path().join("whole");
        let train = format!("--hidden 16 --epochs {epochs} --out {}", whole.display());
        sar(&train).arg("--part-json").arg(&graph).assert().success();
        assert!(resumed == fs::read(whole.join("model.safetensors")).unwrap(), "{parts}");
    }
}

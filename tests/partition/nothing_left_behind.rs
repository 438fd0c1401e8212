//! Guards against: half a directory, temporary files or empty folders after an error or Ctrl-C.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use predicates::str::contains;
use sar::prepare::import::ImportSource;
use sar::prepare::partition::partition_graph;

use super::columns::sar;
use super::common::assert_stops;
use super::support::{edges, request, scattered, write};

#[test]
fn work_that_is_stopped_at_any_point_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "e.txt", &scattered(300, 3000));
    let source = ImportSource::Files(edges(&path));
    let request = request(3);
    assert_stops(folder.path(), 8, |out, tick| {
        partition_graph(&source, &request, out, &mut |_| tick()).map(drop)
    });
}

/// A command that waits for its edges, and has begun to write to its folder, which held `left`.
fn waiting(folder: &Path, left: &[String]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sar-single"));
    command.current_dir(folder).args(["partition", "-", "--num-parts", "1", "--out", "out"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().unwrap();
    let has_begun = |names: Vec<String>| !names.is_empty() && names != left;
    while !has_begun(names_in(&folder.join("out"))) {
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

#[test]
fn what_a_killed_process_left_goes_with_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.txt", "0 1\n1 2\n");
    let words = "--edges e.txt --num-parts 1 --out out";
    let mut killed = waiting(here, &[]);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let left = names_in(&here.join("out"));
    assert_eq!(left.len(), 1);
    // The next process takes the folder over, and keeps others away while it lives.
    let mut living = waiting(here, &left);
    let held = names_in(&here.join("out"));
    assert_eq!(held.len(), 1);
    sar(here, words).code(1).stderr(contains("another process is writing to out"));
    assert_eq!(names_in(&here.join("out")), held);
    living.stdin.take().unwrap().write_all(b"0 1\n").unwrap();
    assert!(living.wait().unwrap().success());
    let mut written = names_in(&here.join("out"));
    written.sort();
    assert_eq!(written, ["g.json", "part0"]);
}

//! Guards against: half a graph, temporary files or empty folders after an error or Ctrl-C.

use std::fs;

use crate::common::assert_stops;
use crate::support::{KINDS, config, ignore};
use sar::prepare::generate::{GeneratorConfig, generate};
use sar::{Error, ErrorKind};

#[test]
fn work_that_is_stopped_at_any_point_leaves_nothing() {
    let config = GeneratorConfig { nodes: 100, edges: 400, ..config(KINDS[0]) };
    let folder = tempfile::tempdir().unwrap();
    assert_stops(folder.path(), 5, |out, tick| generate(&config, out, &mut |_| tick()).map(drop));
}

#[test]
fn an_empty_folder_that_was_there_before_stays() {
    let folder = tempfile::tempdir().unwrap();
    let stopped =
        generate(&config(KINDS[0]), folder.path(), &mut |_| Err(Error::interrupted())).unwrap_err();
    assert_eq!(stopped.kind(), ErrorKind::Interrupted);
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[test]
fn nothing_but_the_partitions_is_in_the_folder_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    generate(&config(KINDS[0]), folder.path(), &mut ignore).unwrap();
    let names = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name());
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    assert_eq!(names, ["g.json", "part0", "part1", "part2", "part3"]);
}

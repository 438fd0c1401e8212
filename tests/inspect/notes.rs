//! Guards against: files that are silently read from another place than the JSON file names.

use std::fs;

use predicates::str::contains;

use crate::support::{copy, inspect};

#[test]
fn a_moved_directory_is_read_and_noted() {
    let folder = copy("data/karate");
    let json = folder.path().join("karate.json");
    let text = fs::read_to_string(&json).unwrap();
    fs::write(&json, text.replace("part1/graph.dgl", "/old\\u0007/place/part1/graph.dgl")).unwrap();
    let note = "\n\nnote: /old\\u{7}/place/part1/graph.dgl does not exist; part1/graph.dgl is read instead\n";
    inspect(folder.path(), "karate.json").assert().success().stdout(contains(note));
}

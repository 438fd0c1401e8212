//! Guards against: a quick look that reads whole columns, and takes minutes on a large graph.

use std::fs;

use predicates::str::contains;

use crate::support::{copy, inspect};

#[test]
fn node_ids_are_not_read_without_verify() {
    let folder = copy("data/karate");
    let path = folder.path().join("part0/graph.dgl");
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(3).position(|name| name == b"_ID").unwrap() + 3 + 48;
    bytes[at..at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
    fs::write(&path, bytes).unwrap();
    inspect(folder.path(), "karate.json").assert().success().stderr("");
    let checked = inspect(folder.path(), "karate.json").arg("--verify").assert().code(1);
    checked.stderr(contains("part0/graph.dgl: "));
}

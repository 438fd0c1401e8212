//! DGL itself reads the output. Needs a Python with dgl: `SAR_DGL_PYTHON`, or the usual `python3`.

use std::io::Write;
use std::process::Command;

use super::common::repository;

/// Runs a script of this folder, if a Python with DGL exists.
fn run(script: &str) {
    let python = std::env::var("SAR_DGL_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let dgl = Command::new(&python)
        .env("DGLBACKEND", "pytorch")
        .args(["-c", "import torch, dgl; dgl.distributed.load_partition"])
        .output();
    if !dgl.is_ok_and(|output| output.status.success()) {
        // This bypasses libtest's capture, so that a skipped test never looks like one that ran.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED {script}: {python} has no dgl (see SAR_DGL_PYTHON)"
        );
        return;
    }
    let output = Command::new(python)
        .arg(repository("tests/partition").join(script))
        .arg(env!("CARGO_BIN_EXE_sar-single"))
        .output()
        .unwrap();
    let (said, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}{errors}");
}

#[test]
fn dgl_finds_the_input_graph_in_the_partitions() {
    run("dgl_loads.py");
}

#[test]
fn graphbolt_loads_what_is_exported() {
    run("dgl_exports.py");
}

#[cfg(feature = "torch")]
#[test]
fn training_gives_the_numbers_of_dgls_own_partitions() {
    run("dgl_trains.py");
}

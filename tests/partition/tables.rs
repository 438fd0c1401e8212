//! Tables and graphs that are written at random by other libraries are read as they were written, or refused. `SAR_TABLE_CASES` says
//! how many; needs a Python with the packages of `tables/requirements.txt`: `SAR_TABLES_PYTHON`, or the usual `python3`.

use std::io::Write;
use std::process::Command;

use super::common::repository;

/// Number of cases that are played if none is given.
const CASES: &str = "100";

#[test]
fn files_of_other_libraries_are_read_as_written_or_refused() {
    let python = std::env::var("SAR_TABLES_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let packages = "import h5py, networkx, numpy, pandas, polars, pyarrow, scipy, zstandard";
    let usable = Command::new(&python).args(["-c", packages]).output();
    if !usable.is_ok_and(|output| output.status.success()) {
        // This bypasses libtest's capture, so that a skipped test never looks like one that ran.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED tables: {python} lacks their writers (see SAR_TABLES_PYTHON)"
        );
        return;
    }
    let cases = std::env::var("SAR_TABLE_CASES").unwrap_or_else(|_| CASES.to_owned());
    let seed = std::env::var("SAR_SEED").unwrap_or_else(|_| "0".to_owned());
    let output = Command::new(python)
        .arg(repository("tests/partition/tables"))
        .arg(env!("CARGO_BIN_EXE_sar-single"))
        .args(["--cases", &cases, "--seed", &seed])
        .output()
        .unwrap();
    let (said, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{said}");
    assert!(output.status.success(), "{said}{errors}");
}

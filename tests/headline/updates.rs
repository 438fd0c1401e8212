//! Updates after batches, of large parameters and of learned rows: not of all workers at the same time.

use std::fs;

use super::alone;
use super::evaluation::{keeps, stays_within, trained};
use super::graphs::with_learned_rows;

/// A budget for large parameters. If all workers had the state of their optimizers in memory at the same time, or if what loading or
/// propagation takes were taken for an epoch's growth, the run would take 900 MiB.
const PARAMETERS: u64 = 460 << 20;

/// A budget for learned rows. A batch has 25,000 of them, 12 MiB, of which an update needs several copies.
const ROWS: u64 = 400 << 20;

#[test]
fn updates_of_large_parameters_stay_within_the_budget() {
    let sizes = ["--nodes", "20000", "--edges", "60000", "--features", "256", "--classes", "47"];
    let model = ["--model", "sign", "--hops", "3", "--layers", "2", "--hidden", "512"];
    let flags = [&model[..], &["--batch-size", "1024", "--epochs", "2"]].concat();
    stays_within(PARAMETERS, &sizes, 4, &flags);
}

#[test]
fn updates_of_learned_rows_stay_within_the_budget() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let json = with_learned_rows(&folder.path().join("graph"), 8, 40_001, 480_000);
    let model = ["--model", "sage", "--hetero", "sum", "--layers", "2", "--hidden", "128"];
    let batches = ["--mode", "sample", "--fanouts", "1,30", "--batch-size", "2000"];
    let flags = [&model[..], &batches, &["--epochs", "2"]].concat();
    keeps(ROWS, folder.path(), &json, &flags);
}

/// At the end of link prediction, and at its checkpoints, workers read all their learned rows. If they did so side by side, they would
/// take as much memory as the rows of all workers.
#[test]
fn learned_rows_of_links_are_read_in_turns() {
    const AUTHORS: usize = 240_001;
    const WIDTH: usize = 128;
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let json = with_learned_rows(&folder.path().join("graph"), 8, AUTHORS, 4000);
    let model = ["--task", "link", "--model", "sage", "--hetero", "sum", "--layers", "1"];
    let batches =
        ["--fanouts", "1", "--batch-size", "128", "--epochs", "1", "--checkpoint-every", "1"];
    let peak = |width: usize| {
        let (folder, hidden) = (folder.path().join(width.to_string()), width.to_string());
        fs::create_dir(&folder).unwrap();
        let flags = [&model[..], &batches, &["--hidden", &hidden]].concat();
        trained(&folder, &json, "min", &flags).0
    };
    let (wide, narrow) = (peak(WIDTH), peak(8));
    let rows = (AUTHORS * WIDTH * size_of::<f32>()) as u64;
    println!("{wide} bytes, and {narrow} with narrow rows; all rows take {rows}");
    assert!(wide < narrow + rows / 2, "{wide} bytes, {narrow} with narrow rows, {rows} of rows");
}

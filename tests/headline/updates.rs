//! Updates after batches, of large parameters and of learned rows: not of all workers at the same time.

use super::alone;
use super::evaluation::{keeps, stays_within};
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
    let json = with_learned_rows(&folder.path().join("graph"), 8);
    let model = ["--model", "sage", "--hetero", "sum", "--layers", "2", "--hidden", "128"];
    let batches = ["--mode", "sample", "--fanouts", "1,30", "--batch-size", "2000"];
    let flags = [&model[..], &batches, &["--epochs", "2"]].concat();
    keeps(ROWS, folder.path(), &json, &flags);
}

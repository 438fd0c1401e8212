//! Batches of a model with large parameters. If all workers had the state of their optimizers in memory at the same time, or if what loading
//! or propagation takes were taken for an epoch's growth, this run would take 900 MiB.

use super::evaluation::stays_within;

const BUDGET: u64 = 460 << 20;

#[test]
fn updates_of_large_parameters_stay_within_the_budget() {
    let sizes = ["--nodes", "20000", "--edges", "60000", "--features", "256", "--classes", "47"];
    let model = ["--model", "sign", "--hops", "3", "--layers", "2", "--hidden", "512"];
    let flags = [&model[..], &["--batch-size", "1024", "--epochs", "2"]].concat();
    stays_within(BUDGET, &sizes, 4, &flags);
}

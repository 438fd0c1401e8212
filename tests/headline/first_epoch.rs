//! A first epoch of wide layers, of which the plan's small graphs show too little: two workers at a time took 350 MiB.

use super::evaluation::stays_within;

const BUDGET: u64 = 330 << 20;

#[test]
fn a_first_epoch_stays_within_the_budget() {
    let sizes = ["--nodes", "90000", "--edges", "180000", "--features", "300", "--classes", "47"];
    let flags = ["--model", "gcn", "--layers", "2", "--hidden", "700", "--epochs", "2"];
    stays_within(BUDGET, &sizes, 4, &flags);
}

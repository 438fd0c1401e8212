//! How many cases a test plays that has a great many.

use std::time::{SystemTime, UNIX_EPOCH};

/// One of so many cases is played, unless `make campaign` asks for all.
const STRIDE: usize = 4;

/// The cases to play: all of them if `SAR_CAMPAIGN` is set, and a quarter else, at least one, which changes from run to run.
pub(crate) fn drawn<T>(cases: impl IntoIterator<Item = T>) -> Vec<T> {
    let cases: Vec<T> = cases.into_iter().collect();
    if std::env::var_os("SAR_CAMPAIGN").is_some() {
        return cases;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as usize;
    let first = now % STRIDE.min(cases.len());
    println!("of {} cases, every {STRIDE}th from case {first} on", cases.len());
    cases.into_iter().skip(first).step_by(STRIDE).collect()
}

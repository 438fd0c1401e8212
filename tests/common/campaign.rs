//! How many cases a test plays that has a great many.

use std::time::{SystemTime, UNIX_EPOCH};

/// One of so many cases is played, unless `make campaign` asks for all.
const STRIDE: usize = 4;

/// The cases to play: all of them if `SAR_CAMPAIGN` is set, and a quarter else, which changes from run to run.
pub(crate) fn drawn<T>(cases: impl IntoIterator<Item = T>) -> Vec<T> {
    if std::env::var_os("SAR_CAMPAIGN").is_some() {
        return cases.into_iter().collect();
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as usize;
    cases.into_iter().skip(now % STRIDE).step_by(STRIDE).collect()
}

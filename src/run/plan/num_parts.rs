//! Number of partitions with which a run fits into its memory budget.

use serde::{Deserialize, Serialize};

use super::forecast::forecast;
use super::graph_shape::GraphShape;
use crate::run::config::{MemoryBudget, RunConfig, check};
use crate::words::error::{Error, ErrorKind, Result};
use crate::words::size::size;

/// Largest number that is tried. With more partitions, the processes' own memory dominates.
const MOST: u64 = 1024;
/// Memory that must be left free, relative to the forecast, because partitions differ in size and forecasts err.
const SPARE: f64 = 0.125;

/// A number of partitions, and the memory of a run with them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedParts {
    /// The number of partitions.
    pub parts: usize,
    /// Least memory of a run with this number, in bytes.
    pub memory: u64,
    /// The memory budget, in bytes.
    pub budget: u64,
    /// The next smaller number that was tried, and its memory, which exceeds the budget.
    pub fewer: Option<(usize, u64)>,
}

/// Checks that a number of partitions can be chosen for a run.
pub(super) fn check_run(run: &RunConfig) -> Result<()> {
    check(run)?;
    if run.sampling.is_some() {
        let problem = "the memory of training on samples depends on batches, not on partitions";
        return Err(Error::config("num_parts", problem)
            .with_hint("pass a number, such as ‹num_parts=8›, or leave out ‹sampling›"));
    }
    if run.memory_budget == MemoryBudget::Min {
        return Err(Error::config("memory_budget", "is min, but partitions are cut to fit a size")
            .with_hint("pass a size, such as ‹memory_budget=4GiB›"));
    }
    Ok(())
}

/// Smallest number of partitions with which the run fits into its budget.
pub(super) fn num_parts(run: &RunConfig, shape: &GraphShape) -> Result<PlannedParts> {
    // A layer per edge type works on fewer rows at a time than one layer for all types.
    let run = RunConfig { relations: None, ..run.clone() };
    let budget = run.memory_budget.bytes();
    let room = budget as f64 / (1.0 + SPARE);
    let resident = run.resident.unwrap_or(1);
    let (mut parts, mut fewer) = (1, None);
    loop {
        let memory = forecast(&run, &shape.cut(parts))?.memory;
        let bytes = memory.bytes(resident, 1);
        if bytes as f64 <= room {
            return Ok(PlannedParts { parts: parts as usize, memory: bytes, budget, fewer });
        }
        fewer = Some((parts as usize, bytes));
        let idle = memory.idle(1);
        // Doubling the number of partitions saves at most half of the memory for rows, because foreign rows do not
        // halve. A single worker exchanges nothing and holds more.
        let least =
            if parts == 1 { 0.0 } else { parts as f64 * (bytes as f64 - idle) / (room - idle) };
        match next(parts, least) {
            Some(next) if idle < room && next <= MOST.min(shape.nodes) => parts = next,
            _ => return Err(too_little(budget, parts, bytes)),
        }
    }
}

fn too_little(budget: u64, parts: u64, bytes: u64) -> Error {
    let s = if parts == 1 { "" } else { "s" };
    let problem = format!(
        "no number of partitions makes the run fit into {}: with {parts} partition{s} it takes {}",
        size(budget),
        size(bytes)
    );
    Error::new(ErrorKind::OutOfMemory, problem)
        .with_hint("raise ‹memory_budget›, or lower ‹model.hidden›")
}

/// The first number of partitions greater than `parts` and at least `least`. From 8 on, eight numbers between powers of
/// two are tried, so that the result does not depend on which were tried before.
fn next(parts: u64, least: f64) -> Option<u64> {
    let steps = |power: u32| {
        let (first, step) = (8_u64 << power, 1_u64 << power);
        (0..8).map(move |i| first + i * step)
    };
    let mut numbers = (1..8).chain((0..8).flat_map(steps));
    numbers.find(|number| *number > parts && *number as f64 >= least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_tried_in_steps_of_an_eighth() {
        assert_eq!(next(1, 0.0), Some(2));
        assert_eq!(next(1, 6.2), Some(7));
        assert_eq!(next(15, 15.5), Some(16));
        assert_eq!(next(16, 17.0), Some(18));
        assert_eq!(next(100, 3.0), Some(104));
        assert_eq!(next(1, 1020.0), Some(1024));
        assert_eq!(next(1, 1e9), None);
    }
}

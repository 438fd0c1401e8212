//! How many threads a run may have.

/// More threads than so many times the cores only get in each other's way; a number far beyond is a slip of the keyboard, and
/// would leave the machine no time for anything else.
const PER_CORE: usize = 4;

/// Of the threads asked for, those that a worker gets.
pub(super) fn capped(asked: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    asked.min(PER_CORE * cores)
}

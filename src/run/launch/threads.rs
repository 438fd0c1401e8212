//! The number of threads of a run.

/// Largest number of threads per core. More only get in each other's way; a number far beyond is a slip of the keyboard, and
/// would leave the machine no time for anything else.
const PER_CORE: usize = 4;

/// Number of threads that a worker gets, given the number requested.
pub(super) fn capped(asked: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    asked.min(PER_CORE * cores)
}

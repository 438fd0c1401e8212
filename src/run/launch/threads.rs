//! The number of threads of a run.

/// Maximum number of threads per core. More threads do not help, and a far larger number is a typing error that would
/// block the machine.
const PER_CORE: usize = 4;

/// Number of threads per worker, given the requested number.
pub(super) fn capped(asked: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    asked.min(PER_CORE * cores)
}

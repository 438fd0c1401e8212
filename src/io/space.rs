//! Checks the free space on a disk.

use std::path::Path;

use crate::platform::free_space;
use crate::words::error::{Error, ErrorKind, Result};
use crate::words::size::size;

/// Returns an error if the disk lacks `needed` bytes of free space for `what`, before writing fails. `out` need not
/// exist.
pub(crate) fn check_space(what: &str, needed: u64, out: &Path) -> Result<()> {
    // If the file system does not report its free space, nothing is checked.
    let Some(free) = free_space(out).filter(|free| needed > *free) else { return Ok(()) };
    let existing = out.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    let problem = format!(
        "{what} takes {} while it is written, but {} has {} left",
        size(needed),
        existing.display(),
        size(free)
    );
    Err(Error::new(ErrorKind::OutOfDisk, problem)
        .with_hint("name a folder on a larger disk with ‹out›, or make a smaller graph"))
}

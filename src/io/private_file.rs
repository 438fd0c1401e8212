//! Files that are nobody else's business.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;

/// Opens a new file, to be read and written by its owner only: rows that are spilled are a user's data. (Results follow the
/// umask, as any other file that a user makes.)
pub(crate) fn new_private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    options
}

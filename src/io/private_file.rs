//! Files that only their owner may open.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;

/// Options that create a new file which only its owner can read and write, because spilled rows are a user's data.
/// (Results follow the umask, like any other file of the user.)
pub(crate) fn new_private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    options
}

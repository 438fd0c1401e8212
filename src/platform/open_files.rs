//! The limit on open files.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the number of files that this process and its children may have open to the system's maximum: a rank reads from as
/// many files as there are ranks.
pub fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where the system refuses, the present limit may suffice; if not, the error names the file that could not be opened.
    let _ = setrlimit(Resource::Nofile, limit);
}

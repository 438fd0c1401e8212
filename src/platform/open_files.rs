//! The limit on open files.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises this process's limit on open files, and its children's, to the system's maximum: a rank reads from as many
/// files as there are ranks.
pub fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where the system refuses, the present limit may suffice; if not, the error names the file that failed to open.
    let _ = setrlimit(Resource::Nofile, limit);
}

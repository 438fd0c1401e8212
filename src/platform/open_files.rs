//! How many files may be open.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the number of files that this process and its children may have open to what the system admits: a rank reads from as
/// many files as there are ranks.
pub fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it is refused, the limit that there is may suffice; if it does not, the file that cannot be opened is named.
    let _ = setrlimit(Resource::Nofile, limit);
}

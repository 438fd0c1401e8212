//! The way from a folder of results to the control file of the run that writes to it.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::engine::spill_dir::link_in;
use crate::event::show_note;

/// A symbolic link in a folder of results. It is removed when this is dropped; what a killed run leaves, the next run removes, as the
/// link has the name of an unfinished file.
#[derive(Debug)]
pub(super) struct RunLink(PathBuf);

impl RunLink {
    /// Creates the link, or says why it is missing: the run does not need it.
    pub(super) fn create(out: &Path, control: &Path) -> Result<Self, String> {
        let link = link_in(out);
        // An earlier run that was killed may have left one.
        let _ = fs::remove_file(&link);
        match symlink(control, &link) {
            Ok(()) => Ok(RunLink(link)),
            Err(e) => Err(format!(
                "{}: cannot hold a link ({e}); name {} to status, pause and continue",
                out.display(),
                control.parent().unwrap_or(control).display()
            )),
        }
    }
}

impl Drop for RunLink {
    fn drop(&mut self) {
        // A link to a run that has ended is not followed, so the run does not fail for it.
        match fs::remove_file(&self.0) {
            Err(e) if e.kind() != ErrorKind::NotFound => {
                show_note(&format!("cannot remove {}: {e}", self.0.display()));
            }
            _ => {}
        }
    }
}

//! Link from a results folder to the control file of the run that writes to it.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::engine::spill_dir::link_in;
use crate::event::show_note;

/// A symbolic link in a results folder, which is removed on drop. It is named like an unfinished file, so that the next
/// run removes the link of a killed one.
#[derive(Debug)]
pub(super) struct RunLink(PathBuf);

impl RunLink {
    /// Creates the link, or returns the reason for not creating it; the run does not need it.
    pub(super) fn create(out: &Path, control: &Path) -> Result<Self, String> {
        let link = link_in(out);
        // An earlier, killed run may have left a link.
        let _ = fs::remove_file(&link);
        match symlink(control, &link) {
            Ok(()) => Ok(RunLink(link)),
            Err(e) => Err(format!(
                "{}: cannot hold a link ({e}); pass {} to `status`, `pause` and `continue`",
                out.display(),
                control.parent().unwrap_or(control).display()
            )),
        }
    }
}

impl Drop for RunLink {
    fn drop(&mut self) {
        // The link of a run that has ended is not followed, so failing to remove it is not an error.
        match fs::remove_file(&self.0) {
            Err(e) if e.kind() != ErrorKind::NotFound => {
                show_note(&format!("cannot remove {}: {e}", self.0.display()));
            }
            _ => {}
        }
    }
}

//! `clean`: removes what killed runs left behind.

use std::path::PathBuf;

use clap::Args;

use super::output::print;
use crate::error::Result;
use crate::launcher::sweep;
use crate::worker::default_spill_dir;

/// Remove the spill folders of runs that were killed
///
/// Every start of a run does this, too, for its own spill folder. Folders of living runs are left alone.
#[derive(Debug, Args)]
pub(super) struct CleanArgs {
    /// Folder that spilled data was put in [default: $TMPDIR or /var/tmp]
    #[arg(long, value_name = "DIR")]
    spill_dir: Option<PathBuf>,
}

/// Prints each folder that it removes.
pub(super) fn clean(args: CleanArgs) -> Result<()> {
    let folder = args.spill_dir.unwrap_or_else(default_spill_dir);
    let removed = sweep(&folder);
    for path in &removed {
        print(&format!("removed {}\n", path.display()))?;
    }
    if removed.is_empty() {
        print(&format!("nothing to remove in {}\n", folder.display()))?;
    }
    Ok(())
}

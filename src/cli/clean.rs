//! `clean`: removes the spill folders of killed runs.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::show::output::print;
use crate::engine::spill_dir::{Swept, default_spill_dir, sweep};
use crate::words::error::{Error, Result};
use crate::words::size::size;

/// Remove the spill folders of runs that were killed
///
/// Every run does the same for its --spill-dir when it starts. Folders of running runs are left alone, and so are folders that
/// sar-single has not created, whatever their names.
#[derive(Debug, Args)]
pub(super) struct CleanArgs {
    /// Folder of spilled data [default: $TMPDIR or /var/tmp]
    #[arg(long, value_name = "DIR")]
    spill_dir: Option<PathBuf>,
}

/// Removes folders of killed runs, and prints each; also prints similar folders that it leaves alone.
pub(super) fn clean(args: CleanArgs) -> Result<()> {
    if let Some(folder) = &args.spill_dir {
        fs::read_dir(folder).map_err(|e| Error::unreadable(folder, &e))?;
    }
    let folder = args.spill_dir.unwrap_or_else(default_spill_dir);
    let Swept { removed, foreign, failed } = sweep(&folder);
    for path in &removed {
        print(&format!("removed {}\n", path.display()))?;
    }
    if removed.is_empty() && failed.is_empty() {
        print(&format!("nothing to remove in {}\n", folder.display()))?;
    }
    for (path, why) in foreign {
        let bytes = disk_usage(&path).map_or_else(|_| "size unknown".to_owned(), size);
        print(&format!("left alone {} ({bytes}): {why}\n", path.display()))?;
    }
    failed.into_iter().next().map_or(Ok(()), Err)
}

/// Disk space of a file or folder, in bytes. Links are not followed.
fn disk_usage(path: &Path) -> io::Result<u64> {
    let metadata = fs::symlink_metadata(path)?;
    let mut bytes = metadata.blocks() * 512;
    if metadata.is_dir() {
        for entry in fs::read_dir(path)? {
            bytes += disk_usage(&entry?.path())?;
        }
    }
    Ok(bytes)
}

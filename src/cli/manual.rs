//! `manual`: the manual pages, which `make install` installs.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::generate_to;

use crate::error::{Error, Result};
use crate::io::MadeFolders;

/// Write a manual page per command
#[derive(Debug, Args)]
pub(super) struct ManualArgs {
    /// Folder for the pages
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(super) fn manual(args: &ManualArgs, definition: Command) -> Result<()> {
    let made = MadeFolders::create(&args.folder, "DIR")?;
    generate_to(definition, &args.folder)
        .map_err(|e| Error::io("cannot write manual pages to", &args.folder, e))?;
    made.keep();
    Ok(())
}

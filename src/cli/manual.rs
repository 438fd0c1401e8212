//! `manual`: the manual pages that `make install` installs.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::generate_to;

use crate::error::{Error, Result};

/// Write a manual page per command
#[derive(Debug, Args)]
pub(super) struct ManualArgs {
    /// Folder for the pages; it must exist
    folder: PathBuf,
}

pub(super) fn manual(args: &ManualArgs, definition: Command) -> Result<()> {
    generate_to(definition, &args.folder).map_err(|e| Error::io("cannot write", &args.folder, e))
}

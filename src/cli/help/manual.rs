//! `manual`: the manual pages, which `make install` installs.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::generate_to;
use serde_json::json;

use crate::cli::help::first_page::with_usages;
use crate::event::show_event;
use crate::io::MadeFolders;
use crate::words::error::{Error, Result};

/// Write a manual page per command
#[derive(Debug, Args)]
pub(in crate::cli) struct ManualArgs {
    /// Folder for the pages
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(in crate::cli) fn manual(args: &ManualArgs, definition: Command) -> Result<()> {
    let folder = &args.folder;
    let made = MadeFolders::create(folder, "DIR")?;
    if !folder.is_dir() {
        return Err(Error::input(folder, "", "is not a folder"));
    }
    generate_to(with_usages(definition), folder)
        .map_err(|e| Error::io("write manual pages to", folder, e))?;
    made.keep();
    show_event(&json!({ "event": "done", "path": folder }));
    Ok(())
}

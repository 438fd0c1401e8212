//! Output folders that are either complete or empty.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::{Error, Result};
use crate::io::MadeFolders;
use crate::platform::signals::Unfinished;

/// Maximum size of a name in bytes; most file systems allow 255, including `.json`.
const MAX_NAME: usize = 200;

/// Prefix of the hidden folder's name.
const UNFINISHED: &str = ".unfinished-";

/// The folder of a graph that is being written. Files are written to a hidden folder inside it, so that
/// they need not be copied, and moved when all are complete. If it is dropped before [`commit`](Self::commit), it
/// leaves nothing behind.
#[derive(Debug)]
pub(crate) struct OutputFolder {
    // Dropped before `made`, which must then be empty.
    staging: TempDir,
    path: PathBuf,
    made: MadeFolders,
    _unfinished: Unfinished,
}

impl OutputFolder {
    /// As [`create`](Self::create), for the partition directory of a graph.
    ///
    /// # Errors
    /// As for [`create`](Self::create), or if the folder holds a graph with this name.
    pub(crate) fn of_graph(path: &Path, graph_name: &str) -> Result<Self> {
        let json = format!("{graph_name}.json");
        if path.join(&json).exists() {
            let problem = format!("{} already holds graph {graph_name} ({json})", path.display());
            let hint = "remove that folder, or choose another one with ‹out›";
            return Err(Error::config("out", problem).with_hint(hint));
        }
        Self::create(path)
    }

    /// Creates `path`, or uses it if it is empty.
    ///
    /// # Errors
    /// If it is a file or not empty, or cannot be created or written to.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        check_empty(path)?;
        let made = MadeFolders::create(path, "out")?;
        let staging = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(path);
        let staging = staging.map_err(|e| unwritable(path, &e))?;
        let unfinished = Unfinished::note(staging.path().to_owned(), made.paths().to_vec());
        Ok(OutputFolder { staging, path: path.to_owned(), made, _unfinished: unfinished })
    }

    /// The folder to write to.
    pub(crate) fn staging(&self) -> &Path {
        self.staging.path()
    }

    /// The folder that is complete or empty.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Moves `names` from the staging folder to their final places, in this order; all or none.
    pub(crate) fn commit(self, names: &[String]) -> Result<()> {
        for (done, name) in names.iter().enumerate() {
            let target = self.path.join(name);
            if let Err(error) = fs::rename(self.staging().join(name), &target) {
                for name in &names[..done] {
                    // Move it back to the folder that is removed; a failure here cannot be handled.
                    let _ = fs::rename(self.path.join(name), self.staging().join(name));
                }
                return Err(Error::io("create", &target, error));
            }
        }
        self.made.keep();
        Ok(())
    }
}

/// Checks that a graph name can be part of a file name.
pub(crate) fn check_graph_name(name: &str) -> Result<()> {
    let unusual = |c: char| c == '/' || c.is_control();
    let problem = if name.is_empty() {
        "is empty"
    } else if name.len() > MAX_NAME {
        "is too long for the name of a file"
    } else if name.starts_with('.') || name.contains(unusual) {
        "cannot name a file, as it begins with a dot or holds a slash or a control character"
    } else {
        return Ok(());
    };
    Err(Error::config("name", problem).with_hint("pass a short name, such as ‹name=g›"))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    let problem = format!("{} cannot be used: {error}", path.display());
    Error::shortage(&problem, error).unwrap_or_else(|| {
        Error::config("out", problem).with_hint("name a folder in which you may create files")
    })
}

fn check_empty(path: &Path) -> Result<()> {
    let field = "out";
    if path.exists() && !path.is_dir() {
        let problem = format!("{} is not a folder", path.display());
        return Err(Error::config(field, problem).with_hint("name a new or an empty folder"));
    }
    let first = match fs::read_dir(path) {
        Ok(mut entries) => entries.next(),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
        Err(e) => return Err(unwritable(path, &e)),
    };
    let Some(entry) = first else { return Ok(()) };
    let name = entry.map_err(|e| unwritable(path, &e))?.file_name();
    if name.to_string_lossy().starts_with(UNFINISHED) {
        let left = path.join(&name);
        let problem = format!("{} was left by a run that was killed", left.display());
        return Err(Error::config(field, problem).with_hint(format!("remove {}", left.display())));
    }
    let problem = format!("{} is not empty: it holds {}", path.display(), name.display());
    Err(Error::config(field, problem).with_hint("name a new or an empty folder"))
}

//! Standard input in place of a file.

use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use crate::prepare::import::files::GraphFiles;
use crate::prepare::import::graph::RawGraph;
use crate::words::error::{Error, Result};

/// Name of a file that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// Name in messages.
const NAME: &str = "standard input";

/// The files of a graph, with standard input copied to a temporary file: most formats are read from several places, and
/// tables twice.
pub(super) struct SpooledFiles {
    pub(super) files: GraphFiles,
    spool: Option<PathBuf>,
}

impl SpooledFiles {
    /// Copies standard input to a file in `folder` if a file is called `-`.
    pub(super) fn new(files: &GraphFiles, folder: &Path) -> Result<Self> {
        let mut files = files.clone();
        let mut named: Vec<&mut PathBuf> =
            paths(&mut files).filter(|path| path.as_os_str() == STANDARD_INPUT).collect();
        let spool = match &mut named[..] {
            [] => None,
            [path] => {
                let spool = folder.join("standard-input");
                copy(&spool, folder)?;
                (*path).clone_from(&spool);
                Some(spool)
            }
            _ => {
                let problem = "more than one file is standard input (-), which can be read once";
                return Err(Error::new(crate::words::error::ErrorKind::Config, problem)
                    .with_hint("save all but one of them in files"));
            }
        };
        Ok(SpooledFiles { files, spool })
    }

    /// Names standard input in place of the temporary file in a result.
    pub(super) fn named(&self, read: Result<RawGraph>) -> Result<RawGraph> {
        let Some(spool) = &self.spool else { return read };
        let path = spool.display().to_string();
        let mut graph = read.map_err(|error| error.renaming(spool, NAME))?;
        // Removal leaves open files readable.
        std::fs::remove_file(spool).map_err(|e| Error::io("remove", spool, e))?;
        graph.notes = graph.notes.iter().map(|note| note.replace(&path, NAME)).collect();
        Ok(graph)
    }
}

fn paths(files: &mut GraphFiles) -> impl Iterator<Item = &mut PathBuf> {
    let edges = files.edges.iter_mut().map(|file| &mut file.path);
    let node_data = files.node_data.iter_mut().map(|file| &mut file.path);
    let edge_data = files.edge_data.iter_mut().map(|file| &mut file.path);
    let splits = files.splits.iter_mut().map(|file| &mut file.path);
    let names = files.node_names.iter_mut().map(|(_, path)| path);
    let tables = files.node_tables.files.iter_mut().map(|file| &mut file.path);
    edges.chain(tables).chain(node_data).chain(edge_data).chain(splits).chain(names)
}

fn copy(spool: &Path, folder: &Path) -> Result<()> {
    let failed = |e| Error::io("write a temporary file in", folder, e);
    let mut out = std::fs::File::create_new(spool).map_err(failed)?;
    let mut input = std::io::stdin().lock();
    let mut buffer = vec![0; 256 << 10];
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(len) => out.write_all(&buffer[..len]).map_err(failed)?,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(Error::unreadable(Path::new(NAME), &e)),
        }
    }
}

//! The file with the turns of an epoch.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::event::{RankTurns, RecordedTurns, TurnSpan};
use crate::io::AtomicFile;

/// The turns of an epoch, collected from the ranks.
pub(super) struct TurnsFile {
    path: PathBuf,
    num_ranks: usize,
    epoch: u32,
    ranks: BTreeMap<usize, Vec<TurnSpan>>,
}

impl TurnsFile {
    /// A file that is written once all ranks have reported an epoch.
    pub(super) fn new(path: &Path, num_ranks: usize) -> Self {
        TurnsFile { path: path.to_owned(), num_ranks, epoch: 0, ranks: BTreeMap::new() }
    }

    /// Adds a rank's turns.
    pub(super) fn add(&mut self, turns: &RankTurns) -> Result<()> {
        if turns.epoch != self.epoch {
            (self.epoch, self.ranks) = (turns.epoch, BTreeMap::new());
        }
        self.ranks.insert(turns.rank, turns.spans.clone());
        if self.ranks.len() < self.num_ranks {
            return Ok(());
        }
        let ranks = std::mem::take(&mut self.ranks).into_values().collect();
        write_json(&self.path, &RecordedTurns { epoch: self.epoch, ranks })
    }
}

pub(super) fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<()> {
    let text = serde_json::to_vec(value)
        .map_err(|e| Error::internal(format!("cannot encode {}: {e}", path.display())))?;
    let file = AtomicFile::create(path)?;
    file.file().write_all(&text).map_err(|e| Error::io("write", path, e))?;
    file.commit()
}

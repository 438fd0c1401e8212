//! The file with the turns of an epoch.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::json_file::write_json;
use crate::event::{RankTurns, RecordedTurns, TurnSpan};
use crate::words::error::Result;

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

//! The file to which all ranks write their rows of a prediction.

use std::path::{Path, PathBuf};

use super::form::StoredForm;
use super::work::PredictionWork;
use crate::engine::comm::{Ranks, Recipient, barrier, bring_together, spans_machines};
use crate::engine::turns::Phase;
use crate::io::RowFile;
use crate::run::rank::setup::{RankSetup, Surroundings};
use crate::words::error::Result;

/// The file of rows from which the launcher makes a table, in the folder of the run's spilled data.
pub(in crate::run) fn table_rows(folder: &Path) -> PathBuf {
    folder.join("prediction")
}

/// Opens a file of rows in the folder of the run's spilled data; all ranks do so in the same way.
pub(super) fn open_rows(here: Surroundings<'_>, path: &Path, row_bytes: usize) -> Result<RowFile> {
    Ok(noting(here, RowFile::open(path, Vec::new(), row_bytes)?))
}

/// Opens the file; all ranks do so in the same way.
pub(super) fn open(
    here: Surroundings<'_>,
    work: &PredictionWork<'_>,
    form: &StoredForm,
    rows: u64,
) -> Result<RowFile> {
    // Rows of other machines are on their way to the first one; meanwhile they lie with the spilled data.
    let Some(output) = work.output else {
        return open_rows(here, &table_rows(here.folder), form.row_bytes());
    };
    let header = form.header(work.format, rows)?;
    Ok(noting(here, RowFile::open(output, header, form.row_bytes())?))
}

/// A file of all ranks, which records the rows for other machines.
fn noting(here: Surroundings<'_>, file: RowFile) -> RowFile {
    if here.placement.remote().next().is_some() { file.noting() } else { file }
}

/// Completes the file of [`open`] once all ranks have written. If it is the output, the launcher gives it its final name when the
/// run is over, so that a run that is interrupted leaves none.
pub(super) fn seal(
    setup: &RankSetup,
    work: &PredictionWork<'_>,
    file: RowFile,
    rows: u64,
) -> Result<()> {
    if work.output.is_none() {
        return finish(setup, file, rows);
    }
    setup.manager.set_phase(Phase::Finishing);
    await_rows(setup.ranks(), &file)?;
    if setup.group.rank() == 0 { file.seal(rows, &[]) } else { Ok(()) }
}

/// Gives the file its final name once all ranks have written.
pub(super) fn finish(setup: &RankSetup, file: RowFile, rows: u64) -> Result<()> {
    setup.manager.set_phase(Phase::Finishing);
    await_rows(setup.ranks(), &file)?;
    if setup.group.rank() == 0 { file.finish(rows, &[]) } else { Ok(()) }
}

/// Waits until all ranks have written; ranks of other machines send their rows to the first machine. One collective.
fn await_rows(ranks: Ranks<'_>, file: &RowFile) -> Result<()> {
    if spans_machines(ranks.group) {
        return bring_together(file, Recipient::Rank(0), ranks);
    }
    barrier(ranks.group, ranks.hooks)
}

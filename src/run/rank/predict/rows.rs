//! The file to which all ranks write their rows of a prediction.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::form::{PredictionFormat, StoredForm};
use super::work::PredictionWork;
use crate::engine::comm::barrier;
use crate::engine::turns::Phase;
use crate::error::Result;
use crate::io::{ArraySpec, RowFile, npy_header, safetensors_header};
use crate::run::rank::setup::{RankSetup, Surroundings};

/// The file of rows from which the launcher makes a table, in the folder of the run's spilled data.
pub(in crate::run) fn table_rows(folder: &Path) -> PathBuf {
    folder.join("prediction")
}

/// Opens the file; all ranks do so in the same way.
pub(super) fn open(
    here: Surroundings<'_>,
    work: &PredictionWork<'_>,
    form: &StoredForm,
    rows: u64,
) -> Result<RowFile> {
    let config = work.config;
    let shape = form.shape(rows);
    let header = match work.format {
        PredictionFormat::Npy => npy_header(form.dtype, &shape)?,
        PredictionFormat::Safetensors => {
            let scores = config.correct_and_smooth.is_some() && form.name == "logits";
            let name = if scores { "scores" } else { form.name };
            let array = ArraySpec { name, dtype: form.dtype, shape: &shape };
            safetensors_header(&[array], &BTreeMap::new())?
        }
        PredictionFormat::Csv | PredictionFormat::Parquet => {
            return RowFile::open(&table_rows(here.folder), Vec::new(), form.row_bytes());
        }
    };
    RowFile::open(&config.output, header, form.row_bytes())
}

/// Completes the file of [`open`] once all ranks have written. If it is the output, the launcher gives it its final name when the
/// run is over, so that a run that is interrupted leaves none.
pub(super) fn seal(
    setup: &RankSetup,
    work: &PredictionWork<'_>,
    file: RowFile,
    rows: u64,
) -> Result<()> {
    if work.format.is_table() {
        return finish(setup, file, rows);
    }
    setup.manager.set_phase(Phase::Finishing);
    barrier(&*setup.group, &*setup.manager)?;
    if setup.group.rank() == 0 { file.seal(rows, &[]) } else { Ok(()) }
}

/// Gives the file its final name once all ranks have written.
pub(super) fn finish(setup: &RankSetup, file: RowFile, rows: u64) -> Result<()> {
    setup.manager.set_phase(Phase::Finishing);
    barrier(&*setup.group, &*setup.manager)?;
    if setup.group.rank() == 0 { file.finish(rows, &[]) } else { Ok(()) }
}

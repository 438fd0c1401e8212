//! `metrics.jsonl`: one JSON object per epoch.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::kinds::{EpochReport, Evaluation};
use crate::error::{Error, Result};

/// The metrics of a run, written line by line.
pub struct MetricsFile {
    path: PathBuf,
    file: File,
}

#[derive(Serialize)]
struct Line<'a, T> {
    event: &'static str,
    #[serde(flatten)]
    report: &'a T,
    /// Largest memory of the process tree so far: private memory of all processes plus shared memory once.
    peak_memory_bytes: u64,
}

impl MetricsFile {
    /// Starts the file, in place of one from an earlier run.
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(|e| Error::io("create", path, e))?;
        Ok(MetricsFile { path: path.to_owned(), file })
    }

    /// Writes an epoch.
    pub fn epoch(&mut self, report: &EpochReport, peak_memory_bytes: u64) -> Result<()> {
        self.line(&Line { event: "epoch", report, peak_memory_bytes })
    }

    /// Writes the last evaluation.
    pub fn evaluation(&mut self, report: &Evaluation, peak_memory_bytes: u64) -> Result<()> {
        self.line(&Line { event: "evaluation", report, peak_memory_bytes })
    }

    fn line(&mut self, line: &impl Serialize) -> Result<()> {
        let mut text = serde_json::to_string(line)
            .map_err(|e| Error::Internal(format!("a metric cannot be written: {e}")))?;
        text.push('\n');
        let written = self.file.write_all(text.as_bytes());
        written.map_err(|e| Error::io("write", &self.path, e))
    }
}

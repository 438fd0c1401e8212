//! `metrics.jsonl`: one JSON object per epoch, and one for the last evaluation.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

use super::kinds::{EpochLog, EpochReport, Evaluation, StepReport};
use super::scores::{Confusion, Scores};
use crate::io::{AtomicFile, IoTotals};
use crate::words::error::{Error, Result};

/// The file of a run's metrics, written line by line.
pub struct MetricsFile {
    path: PathBuf,
    file: File,
    last: String,
}

impl MetricsFile {
    /// Creates the file, which must not exist.
    ///
    /// # Errors
    /// If the file exists or cannot be created (`Io`).
    pub fn create(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().append(true).create_new(true).open(path);
        let file = file.map_err(|e| Error::io("create", path, e))?;
        Ok(MetricsFile { path: path.to_owned(), file, last: String::new() })
    }

    /// Continues an existing file after the line of `epoch`; drops later lines.
    ///
    /// # Errors
    /// If it is a link or anything but a regular file, or cannot be read or written.
    pub fn resume(path: &Path, epoch: u32) -> Result<Self> {
        let text = match fs::symlink_metadata(path) {
            Ok(found) if !found.is_file() => {
                return Err(Error::input(path, "", "is not a regular file"));
            }
            Ok(_) => fs::read_to_string(path).map_err(|e| Error::unreadable(path, &e))?,
            Err(e) if e.kind() == ErrorKind::NotFound => String::new(),
            Err(e) => return Err(Error::unreadable(path, &e)),
        };
        let kept = AtomicFile::create(path)?;
        for line in text.lines().filter(|line| is_epoch_until(line, epoch)) {
            writeln!(kept.file(), "{line}").map_err(|e| Error::io("write", path, e))?;
        }
        kept.commit()?;
        let file = OpenOptions::new().append(true).custom_flags(libc::O_NOFOLLOW).open(path);
        let file = file.map_err(|e| Error::io("open", path, e))?;
        Ok(MetricsFile { path: path.to_owned(), file, last: String::new() })
    }

    /// Writes the line of an epoch. `peak_memory_bytes` is the process tree's peak so far: private memory of all
    /// processes, shared memory once, and the page cache of their files.
    ///
    /// # Errors
    /// If the file cannot be written (`Io`, `OutOfDisk`).
    pub fn epoch(&mut self, report: &EpochReport, peak_memory_bytes: u64) -> Result<()> {
        self.line(Line::of_epoch(report), peak_memory_bytes)
    }

    /// Writes the line of an epoch of a user's program.
    ///
    /// # Errors
    /// If the file cannot be written (`Io`, `OutOfDisk`).
    pub fn log(&mut self, log: &EpochLog, peak_memory_bytes: u64) -> Result<()> {
        let mut line = Line(Vec::new());
        line.field("event", "epoch");
        line.field("epoch", log.epoch);
        for (name, value) in &log.values {
            line.field(name, value);
        }
        line.field("epoch_s", log.epoch_s);
        line.field("lock_turns", log.lock_turns);
        line.moved(log.io);
        self.line(line, peak_memory_bytes)
    }

    /// Writes the line of the last evaluation.
    ///
    /// # Errors
    /// If the file cannot be written (`Io`, `OutOfDisk`).
    pub fn evaluation(&mut self, report: &Evaluation, peak_memory_bytes: u64) -> Result<()> {
        self.line(Line::of_evaluation(report), peak_memory_bytes)
    }

    fn line(&mut self, mut line: Line, peak_memory_bytes: u64) -> Result<()> {
        line.field("peak_memory_bytes", peak_memory_bytes);
        let text = format!("{}\n", line.text());
        let written = self.file.write_all(text.as_bytes());
        self.last = text;
        written.map_err(|e| Error::io("write", &self.path, e))
    }

    /// Waits until all lines are on the disk.
    ///
    /// # Errors
    /// If they cannot be written (`Io`, `OutOfDisk`).
    pub fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(|e| Error::io("write", &self.path, e))
    }

    /// The last line written.
    pub fn last_line(&self) -> &str {
        &self.last
    }
}

/// A JSON object whose fields, each `"key":value`, keep their order.
pub(super) struct Line(Vec<String>);

impl Line {
    /// The line of an epoch.
    pub(super) fn of_epoch(report: &EpochReport) -> Self {
        let mut line = Line::new("epoch", report.epoch, report.loss);
        for (name, value) in report.scores.named() {
            if let Some(value) = value {
                line.field(&format!("{name}_{}_with_dropout", report.scores.metric.key()), value);
            }
        }
        line.field("lr", report.lr);
        if let Some(evaluation) = &report.evaluation {
            line.scores(&evaluation.scores);
            if let Some(score) = evaluation.scores.val {
                line.field("validation", score);
            }
            line.field("evaluation_s", evaluation.seconds);
        }
        line.field("epoch_s", report.epoch_s);
        line.field("user_s", report.processor.user);
        line.field("system_s", report.processor.system);
        line.field("lock_turns", report.lock_turns);
        line.moved(report.io);
        if let Some(samples) = report.samples {
            line.field("batches", samples.batches);
            line.field("row_bytes_needed", samples.row_bytes_needed);
            line.field("row_bytes_read", samples.row_bytes_read);
        }
        line
    }

    /// The line of a step.
    pub(super) fn of_step(report: &StepReport) -> Self {
        let mut line = Line(Vec::new());
        line.field("event", "step");
        line.field("epoch", report.epoch);
        line.field("step", report.step);
        line.field("steps", report.steps);
        line.field("loss", report.loss);
        if let Some(value) = report.scores.train {
            line.field(&format!("train_{}_with_dropout", report.scores.metric.key()), value);
        }
        line.field("epoch_s", report.seconds);
        line
    }

    /// The line of the last evaluation.
    pub(super) fn of_evaluation(report: &Evaluation) -> Self {
        let mut line = Line::new("evaluation", report.epoch, report.loss);
        for scores in &report.scores {
            line.scores(scores);
        }
        line.field("evaluation_s", report.seconds);
        for (name, table) in report.confusion.iter().flat_map(Confusion::named) {
            if !table.is_empty() {
                line.field(&format!("{name}_confusion"), table);
            }
        }
        line
    }

    /// The JSON object.
    pub(super) fn text(&self) -> String {
        format!("{{{}}}", self.0.join(","))
    }

    fn new(event: &str, epoch: u32, loss: f64) -> Self {
        let mut line = Line(Vec::new());
        line.field("event", event);
        line.field("epoch", epoch);
        line.field("loss", loss);
        line
    }

    /// Bytes written, read, and sent to other machines.
    fn moved(&mut self, io: IoTotals) {
        self.field("bytes_written", io.written);
        self.field("bytes_read", io.read);
        self.field("bytes_cached", io.cached);
        if io.saved_in_writing + io.saved_in_reading > 0 {
            self.field("bytes_written_unpacked", io.written + io.saved_in_writing);
            self.field("bytes_read_unpacked", io.read + io.saved_in_reading);
        }
        if io.sent > 0 {
            self.field("bytes_sent", io.sent);
        }
    }

    fn field(&mut self, key: &str, value: impl Serialize) {
        // A loss of NaN becomes null.
        self.0.push(format!("{}:{}", json!(key), json!(value)));
    }

    fn scores(&mut self, scores: &Scores) {
        for (name, value) in scores.named() {
            self.field(&format!("{name}_{}", scores.metric.key()), value);
        }
    }
}

/// Whether a line belongs to an epoch up to `epoch`. A killed run may leave half a line.
fn is_epoch_until(line: &str, epoch: u32) -> bool {
    let value: Value = serde_json::from_str(line).unwrap_or_default();
    value["event"] == "epoch" && value["epoch"].as_u64().is_some_and(|e| e <= u64::from(epoch))
}

#[cfg(test)]
mod tests {
    use super::super::{EpochEvaluation, Metric};
    use super::*;
    use crate::platform::ProcessorSeconds;

    fn report(epoch: u32) -> EpochReport {
        let metric = Metric::Accuracy;
        EpochReport {
            epoch,
            loss: f64::NAN,
            scores: Scores { metric, train: Some(0.5), val: None, test: Some(1.0) },
            lr: 0.01,
            evaluation: None,
            epoch_s: 0.25,
            processor: ProcessorSeconds { user: 1.0, system: 0.5 },
            lock_turns: 7,
            io: IoTotals { written: 1, read: 2, cached: 1, ..IoTotals::default() },
            samples: None,
        }
    }

    #[test]
    fn figures_of_the_training_pass_and_of_an_evaluation_have_different_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let metric = Metric::Accuracy;
        let scores = Scores { metric, train: None, val: Some(0.75), test: None };
        let evaluation = Some(EpochEvaluation { scores, seconds: 0.125 });
        let mut file = MetricsFile::create(&path).unwrap();
        file.epoch(&EpochReport { evaluation, ..report(1) }, 3).unwrap();
        let line: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(line["train_acc_with_dropout"], 0.5);
        assert!(line.get("val_acc_with_dropout").is_none(), "{line}");
        assert_eq!(line["val_acc"], 0.75);
        assert_eq!(line["validation"], 0.75);
        assert!(line["train_acc"].is_null(), "{line}");
        assert_eq!(line["evaluation_s"], 0.125);
    }

    #[test]
    fn a_resumed_file_has_every_epoch_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let mut file = MetricsFile::create(&path).unwrap();
        for epoch in 1..=5 {
            file.epoch(&report(epoch), 3).unwrap();
        }
        let all = std::fs::read_to_string(&path).unwrap();
        let line = r#"{"event":"epoch","epoch":1,"loss":null,"train_acc_with_dropout":0.5,"test_acc_with_dropout":1.0,"lr":0.01,"epoch_s":0.25,"user_s":1.0,"system_s":0.5,"lock_turns":7,"bytes_written":1,"bytes_read":2,"bytes_cached":1,"peak_memory_bytes":3}"#;
        assert_eq!(all.lines().next(), Some(line));
        std::fs::write(&path, format!("{all}{{\"event\":\"ep")).unwrap();
        let mut file = MetricsFile::resume(&path, 3).unwrap();
        file.epoch(&report(4), 3).unwrap();
        file.epoch(&report(5), 3).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), all);
    }
}

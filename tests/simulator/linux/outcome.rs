//! The output of a training run: weights, metrics, and folders.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::Value;

/// Fields of metrics that depend on time, on memory, or on the number of turns or machines.
const FREE: [&str; 13] = [
    "epoch_s",
    "evaluation_s",
    "user_s",
    "system_s",
    "peak_memory_bytes",
    "bytes_written",
    "bytes_read",
    "bytes_cached",
    "bytes_written_unpacked",
    "bytes_read_unpacked",
    "bytes_sent",
    "lock_turns",
    "row_bytes_read",
];

/// Results that must be equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The checksum of the weights file.
    pub(crate) weights: Option<u32>,
    /// The lines of the metrics without the fields that may differ.
    pub(crate) metrics: Vec<String>,
}

impl Outcome {
    /// Reads the output in a run's folder.
    pub(crate) fn of(out: &Path) -> Outcome {
        let weights = fs::read(out.join("model.safetensors")).ok();
        let metrics = fs::read_to_string(out.join("metrics.jsonl")).unwrap_or_default();
        let metrics = metrics.lines().map(|line| {
            let Ok(Value::Object(mut fields)) = serde_json::from_str(line) else {
                return format!("not a JSON object: {line}");
            };
            for field in FREE {
                fields.remove(field);
            }
            Value::Object(fields).to_string()
        });
        Outcome {
            weights: weights.map(|bytes| crc32fast::hash(&bytes)),
            metrics: metrics.collect(),
        }
    }

    /// How another outcome differs from this one; `None` if it does not.
    pub(crate) fn difference(&self, other: &Outcome) -> Option<String> {
        if self == other {
            return None;
        }
        let mut text = String::new();
        if self.weights != other.weights {
            let (ours, theirs) = (self.weights, other.weights);
            write!(text, "weights {theirs:?} instead of {ours:?}; ").unwrap();
        }
        let lines = self.metrics.len().max(other.metrics.len());
        let line =
            |outcome: &Outcome, i: usize| outcome.metrics.get(i).cloned().unwrap_or_default();
        let first = (0..lines).find(|i| line(self, *i) != line(other, *i));
        if let Some(i) = first {
            let (ours, theirs) = (line(self, i), line(other, i));
            let line = i + 1;
            write!(text, "line {line} of the metrics:\n  {theirs}\ninstead of\n  {ours}").unwrap();
        }
        Some(text)
    }
}

/// Names of the entries of a folder.
pub(crate) fn entries(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Names of unfinished files in a folder.
pub(crate) fn unfinished(folder: &Path) -> Vec<String> {
    entries(folder).into_iter().filter(|name| name.starts_with(".partial")).collect()
}

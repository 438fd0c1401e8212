//! TensorBoard's file of a run.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::crc32c::masked;
use super::message::{scalars, step_of, version};
use crate::io::AtomicFile;
use crate::run::config::RunConfig;
use crate::words::error::{Error, Result};

/// Name of the file; TensorBoard looks for `tfevents`.
const NAME: &str = "events.out.tfevents.sar-single";

/// Beginning of the tags of the last evaluation.
const EVALUATION: &str = "evaluation/";

/// Fields of `metrics.jsonl` that are not metrics.
const NOT_VALUES: [&str; 2] = ["event", "epoch"];

/// TensorBoard's file of a run: a record per epoch, and one for the last evaluation.
pub(in crate::run) struct EventFile {
    path: PathBuf,
    file: File,
}

impl EventFile {
    /// Path of the file of a run, if its configuration names a folder for it. If the run `is_new`, no other run may have
    /// written the file.
    pub(in crate::run) fn place(config: &RunConfig, is_new: bool) -> Result<Option<PathBuf>> {
        let path = config.tensorboard.as_ref().map(|folder| Self::path(folder, &config.out));
        match path {
            Some(path) if is_new => Self::check_new(&path).map(|()| Some(path)),
            path => Ok(path),
        }
    }

    /// Path of a run's file; TensorBoard shows the name of the run's results folder.
    fn path(folder: &Path, out: &Path) -> PathBuf {
        folder.join(out.file_name().unwrap_or_default()).join(NAME)
    }

    /// Creates the file and its folder; `overwrite` replaces an earlier run's file.
    pub(in crate::run) fn create(path: &Path, overwrite: bool) -> Result<Self> {
        if !overwrite {
            Self::check_new(path)?;
        }
        Self::with(path, &[])
    }

    /// Checks that no other run has written the file.
    fn check_new(path: &Path) -> Result<()> {
        if !path.exists() {
            return Ok(());
        }
        Err(Error::input(path, "", "holds the events of an earlier run")
            .with_hint("name another folder with ‹tensorboard›, or pass ‹overwrite›"))
    }

    /// Continues the file after the events of `epoch`; removes later ones.
    pub(in crate::run) fn resume(path: &Path, epoch: u32) -> Result<Self> {
        let bytes = match fs::read(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => Vec::new(),
            bytes => bytes.map_err(|e| Error::unreadable(path, &e))?,
        };
        let kept = records(&bytes).filter(|event| {
            step_of(event).is_some_and(|step| (1..=u64::from(epoch)).contains(&step))
                && !is_evaluation(event)
        });
        Self::with(path, &kept.collect::<Vec<_>>())
    }

    /// Replaces the file by one with these events.
    fn with(path: &Path, events: &[&[u8]]) -> Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|e| Error::io("create", folder, e))?;
        }
        let mut bytes = record(&version(now()));
        for event in events {
            bytes.extend(record(event));
        }
        AtomicFile::write(path, &bytes)?;
        let file = OpenOptions::new().append(true).custom_flags(libc::O_NOFOLLOW).open(path);
        let file = file.map_err(|e| Error::io("open", path, e))?;
        Ok(EventFile { path: path.to_owned(), file })
    }

    /// Writes the numbers of a line of `metrics.jsonl` as values of its epoch.
    pub(in crate::run) fn line(&mut self, line: &str) -> Result<()> {
        let line: Value = serde_json::from_str(line)
            .map_err(|e| Error::internal(format!("a line of metrics is not JSON: {e}")))?;
        let evaluation = line["event"] == "evaluation";
        let values = line.as_object().into_iter().flatten();
        let values = values.filter(|(key, _)| !NOT_VALUES.contains(&key.as_str()));
        let values =
            values.filter_map(|(key, value)| Some((tag(key, evaluation), value.as_f64()?)));
        let step = line["epoch"].as_u64().unwrap_or(0);
        let event = scalars(now(), step, &values.collect::<Vec<_>>());
        // A single write, so that readers only see whole records.
        let written = self.file.write_all(&record(&event));
        written.map_err(|e| Error::io("write", &self.path, e))
    }
}

/// Tag of a field; tags of one metric share a chart.
fn tag(key: &str, evaluation: bool) -> String {
    let of_set = ["train", "val", "test"].iter().find_map(|set| {
        let metric = key.strip_prefix(set)?.strip_prefix('_')?;
        Some(format!("{metric}/{set}"))
    });
    let tag = of_set.unwrap_or_else(|| key.to_owned());
    if evaluation { format!("{EVALUATION}{tag}") } else { tag }
}

/// Whether an event is that of the last evaluation. Of an event, only tags are text.
fn is_evaluation(event: &[u8]) -> bool {
    event.windows(EVALUATION.len()).any(|bytes| bytes == EVALUATION.as_bytes())
}

/// Seconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

/// A record: length, checksum of the length, event, checksum of the event.
fn record(event: &[u8]) -> Vec<u8> {
    let len = (event.len() as u64).to_le_bytes();
    let mut record = len.to_vec();
    record.extend(masked(&len).to_le_bytes());
    record.extend(event);
    record.extend(masked(event).to_le_bytes());
    record
}

/// Events of a file up to the first damaged one, because a killed run may leave an incomplete record.
fn records(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (len, after) = rest.split_first_chunk::<8>()?;
        let (crc, after) = after.split_first_chunk::<4>()?;
        if masked(len) != u32::from_le_bytes(*crc) {
            return None;
        }
        let len = usize::try_from(u64::from_le_bytes(*len)).ok()?;
        let event = after.get(..len)?;
        let (crc, after) = after[len..].split_first_chunk::<4>()?;
        rest = after;
        (masked(event) == u32::from_le_bytes(*crc)).then_some(event)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(path: &Path) -> Vec<u64> {
        records(&fs::read(path).unwrap()).map(|event| step_of(event).unwrap()).collect()
    }

    #[test]
    fn a_resumed_file_has_every_epoch_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = EventFile::path(folder.path(), Path::new("runs/a"));
        let line = |epoch: u32| {
            format!("{{\"event\":\"epoch\",\"epoch\":{epoch},\"loss\":null,\"train_acc\":0.5}}")
        };
        let mut file = EventFile::create(&path, false).unwrap();
        file.line(&line(2).replace("\"event\":\"epoch\"", "\"event\":\"evaluation\"")).unwrap();
        (1..=5).for_each(|epoch| file.line(&line(epoch)).unwrap());
        assert!(EventFile::create(&path, false).is_err());
        assert_eq!(steps(&path), [0, 2, 1, 2, 3, 4, 5]);
        // An incomplete record.
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 3]).unwrap();
        let mut file = EventFile::resume(&path, 3).unwrap();
        (4..=5).for_each(|epoch| file.line(&line(epoch)).unwrap());
        assert_eq!(steps(&path), [0, 1, 2, 3, 4, 5], "without the evaluation");
        EventFile::create(&path, true).unwrap();
        assert_eq!(steps(&path), [0]);
    }

    #[test]
    fn values_of_a_metric_share_a_chart() {
        assert_eq!(tag("val_f1_micro", false), "f1_micro/val");
        assert_eq!(tag("bytes_read", false), "bytes_read");
        assert_eq!(tag("test_acc", true), "evaluation/acc/test");
    }
}

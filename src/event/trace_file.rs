//! `--trace`: a file for Perfetto and Chrome's tracing page, to which all processes of a run append.
//!
//! The file is a JSON array with an event per line. The launcher creates it before it forks, and ends the array when
//! all workers are dead. If the launcher is killed, the end is missing, which both viewers accept.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::progress::RunProgress;
use super::recorder::{Recorder, recorder};
use crate::io::{AtomicFile, Destination};
use crate::platform::nanoseconds;
use crate::words::error::{Error, Result};

/// First line of the file.
const OPENING: &str = "[\n";
/// The name in the first event, which identifies a trace.
const FIRST: &str = "sar-single";

/// The launcher's side of a run's trace.
pub struct TraceFile {
    path: PathBuf,
    /// Open for appending.
    file: File,
    /// Number of ranks; the launcher's number comes after theirs.
    ranks: usize,
    /// Begin of the trace, by the machine's clock.
    began: u64,
}

/// A worker's recording, written out at the latest when this value is dropped.
pub struct Recording(());

impl Recording {
    /// Ends the recording; returns why spans are missing, if some are.
    pub fn end(self) -> Option<String> {
        recorder().and_then(Recorder::flush)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // The worker fails for another reason, which it reports; missing spans matter less.
        let _ = recorder().and_then(Recorder::flush);
    }
}

impl TraceFile {
    /// Finds the place of a trace, `path` without links. Nothing may be there, or with `overwrite` an empty file or an
    /// earlier trace.
    ///
    /// # Errors
    /// If anything else is there, or nothing can be created.
    pub fn check(path: &Path, overwrite: bool) -> Result<PathBuf> {
        let name_another = "name another file with ‹trace›";
        let place = Destination::find(path, "trace", overwrite)?;
        let Some(place) = place.regular() else {
            let problem = "is not a regular file, and a trace is read again at its end";
            return Err(Error::input(path, "", problem).with_hint(name_another));
        };
        match fs::metadata(place) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(place.to_owned()),
            Err(e) => return Err(Error::unreadable(path, &e)),
            Ok(found) if found.len() == 0 => return Ok(place.to_owned()),
            Ok(_) => {}
        }
        let first = first_event();
        let mut begin = vec![0; first.len()];
        let read = File::open(path).and_then(|mut file| file.read_exact(&mut begin));
        match read {
            Ok(()) if begin == first.as_bytes() => Ok(place.to_owned()),
            Err(e) if e.kind() != ErrorKind::UnexpectedEof => Err(Error::unreadable(path, &e)),
            _ => {
                let problem = "is not a trace, so it is not replaced";
                Err(Error::input(path, "", problem).with_hint(name_another))
            }
        }
    }

    /// Creates the trace of a run of `ranks` ranks, in place of an earlier one.
    ///
    /// # Errors
    /// If something else is there, or the file cannot be written.
    pub fn create(path: &Path, ranks: usize) -> Result<Self> {
        let path = &Self::check(path, true)?;
        let failed = |e| Error::io("create", path, e);
        match fs::remove_file(path) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(failed(e)),
            _ => {}
        }
        let file = OpenOptions::new().append(true).create_new(true).mode(0o666).open(path);
        let file = file.map_err(failed)?;
        let trace = TraceFile { path: path.to_owned(), file, ranks, began: nanoseconds() };
        (&trace.file).write_all(first_event().as_bytes()).map_err(failed)?;
        trace.append(&json!({ "name": "process_name", "ph": "M", "pid": ranks, "args": { "name": "launcher" } }))?;
        trace.append(&json!({ "name": "process_sort_index", "ph": "M", "pid": ranks, "args": { "sort_index": ranks } }))?;
        Ok(trace)
    }

    /// Records this process's work from now on, as a rank.
    ///
    /// # Errors
    /// If the system opens no more files.
    pub fn record(&self, rank: usize) -> Result<Recording> {
        let file = self.file.try_clone().map_err(|e| Error::io("open", &self.path, e))?;
        Recorder::start(file, rank, self.ranks, self.began);
        Ok(Recording(()))
    }

    /// Records the memory that all processes take. If the file cannot be written, [`close`](Self::close) fails, too.
    pub fn memory(&self, progress: &RunProgress) {
        let RunProgress { memory_bytes, budget_bytes, .. } = progress;
        let args = json!({ "taken": memory_bytes, "budget": budget_bytes });
        // A failure must not stop the run.
        let _ = self.append(&self.now("memory of all processes", "C", args));
    }

    /// Ends the array, after removing lines cut off by a killed process or a full disk.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn close(&self) -> Result<()> {
        let last = format!("{}\n]\n", self.now("end of the run", "i", json!({})));
        let failed = |e| Error::io("write", &self.path, e);
        if self.is_whole().map_err(failed)? {
            return (&self.file).write_all(last.as_bytes()).map_err(failed);
        }
        let whole = AtomicFile::create(&self.path)?;
        let mut out = BufWriter::new(whole.file());
        let copy = |out: &mut BufWriter<&File>| -> std::io::Result<()> {
            out.write_all(OPENING.as_bytes())?;
            let mut lines = Lines::open(&self.path)?;
            while let Some(line) = lines.next()? {
                if is_event(line) {
                    out.write_all(line)?;
                }
            }
            out.write_all(last.as_bytes())?;
            out.flush()
        };
        copy(&mut out).map_err(failed)?;
        drop(out);
        whole.commit()
    }

    /// Whether no line is cut off.
    fn is_whole(&self) -> std::io::Result<bool> {
        let mut lines = Lines::open(&self.path)?;
        let mut is_first = true;
        while let Some(line) = lines.next()? {
            if !(is_event(line) || is_first && line == OPENING.as_bytes()) {
                return Ok(false);
            }
            is_first = false;
        }
        Ok(true)
    }

    /// An event of the launcher.
    fn now(&self, name: &str, phase: &str, args: Value) -> Value {
        let time = (nanoseconds() - self.began) as f64 / 1000.0;
        let mut event = json!({ "name": name, "ph": phase, "pid": self.ranks, "tid": 0, "ts": time, "args": args });
        if phase == "i" {
            event["s"] = json!("g");
        }
        event
    }

    fn append(&self, event: &Value) -> Result<()> {
        let written = (&self.file).write_all(format!("{event},\n").as_bytes());
        written.map_err(|e| Error::io("write", &self.path, e))
    }
}

/// The first lines of every trace.
fn first_event() -> String {
    let event = json!({ "name": FIRST, "ph": "i", "s": "g", "pid": 0, "tid": 0, "ts": 0 });
    format!("{OPENING}{event},\n")
}

/// Whether a line is an event with a comma after it.
fn is_event(line: &[u8]) -> bool {
    let event = line.strip_suffix(b",\n");
    event.is_some_and(|event| serde_json::from_slice::<IgnoredAny>(event).is_ok())
}

/// The lines of a file, one at a time.
struct Lines {
    file: BufReader<File>,
    line: Vec<u8>,
}

impl Lines {
    fn open(path: &Path) -> std::io::Result<Self> {
        Ok(Lines { file: BufReader::new(File::open(path)?), line: Vec::new() })
    }

    fn next(&mut self) -> std::io::Result<Option<&[u8]>> {
        self.line.clear();
        let read = self.file.read_until(b'\n', &mut self.line)?;
        Ok((read > 0).then_some(&self.line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(path: &Path) -> Vec<Value> {
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    }

    #[test]
    fn lines_that_are_cut_off_are_removed_and_the_rest_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        TraceFile::create(&path, 2).unwrap().close().unwrap();
        let whole = events(&path).len();
        for cut in ["{\"name\":\"linear\",\"pi", "{\"name\":", "12},\n{\"name\":\"x\"},\n{"] {
            // It replaces the one before.
            let trace = TraceFile::create(&path, 2).unwrap();
            (&trace.file).write_all(cut.as_bytes()).unwrap();
            (&trace.file).write_all(b"\n").unwrap();
            trace.append(&json!({ "name": "after" })).unwrap();
            trace.close().unwrap();
            let events = events(&path);
            let named = |name: &str| events.iter().filter(|event| event["name"] == name).count();
            assert_eq!((named("after"), named("launcher"), named("end of the run")), (1, 0, 1));
            assert_eq!(events.len(), whole + 1 + named("x"), "{cut}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn only_traces_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("notes.txt", "[\nmine"), ("long", &"x".repeat(500))] {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            let error = TraceFile::create(&path, 1).err().unwrap().to_string();
            assert!(error.contains("is not a trace"), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::write(folder.path().join("empty"), "").unwrap();
        TraceFile::create(&folder.path().join("empty"), 1).unwrap();
        for (path, problem) in [
            (folder.path(), "is a folder"),
            (Path::new("/dev/null"), "is not a regular file"),
            (&folder.path().join("missing/trace.json"), "does not exist"),
        ] {
            let error = TraceFile::create(path, 1).err().unwrap().to_string();
            assert!(error.contains(problem), "{error}");
        }
        let error = TraceFile::check(&folder.path().join("empty"), false).unwrap_err().to_string();
        assert!(error.contains("exists already"), "{error}");
    }
}

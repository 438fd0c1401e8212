//! The recorder of a process's spans: lines of the run's trace.

use std::cell::OnceCell;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write;
use std::sync::OnceLock;

use parking_lot::Mutex;
use serde_json::json;

use super::tracks::{TURNS, Tracks};
use crate::words::size::size;

/// Bytes collected before a write.
const BUFFER: usize = 64 << 10;
/// Largest size of a run's trace in bytes, as viewers read it into memory.
const MOST: u64 = 512 << 20;

/// The recorder of this process, if it is a worker of a run with a trace.
static RECORDER: OnceLock<Recorder> = OnceLock::new();

/// The recorder of this process, if its spans are recorded.
pub(super) fn recorder() -> Option<&'static Recorder> {
    RECORDER.get()
}

/// A thread's track, given back when the thread ends.
struct Taken(usize);

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some(recorder) = recorder() {
            recorder.tracks.give_back(self.0);
        }
    }
}

/// The track of the calling thread.
pub(super) fn track_of_this_thread() -> Option<usize> {
    thread_local!(static TRACK: OnceCell<Taken> = const { OnceCell::new() });
    let recorder = recorder()?;
    let take = || {
        let thread = std::thread::current();
        let name = match thread.name() {
            Some("main") => "work",
            Some(name) => name,
            None => "thread",
        };
        let (number, is_new) = recorder.tracks.take(name);
        if is_new {
            recorder.name_track(number, name);
        }
        Taken(number)
    };
    // A thread that is about to end has given its track back.
    TRACK.try_with(|track| track.get_or_init(take).0).ok()
}

/// One process's part of a trace. It appends lines in batches, so ranks need no common lock.
pub(super) struct Recorder {
    rank: usize,
    /// Begin of the trace, by the machine's clock.
    began: u64,
    tracks: Tracks,
    lines: Mutex<Lines>,
}

struct Lines {
    file: File,
    text: String,
    /// Bytes that this process may still write.
    left: u64,
    /// Why nothing more is recorded.
    ended: Option<String>,
}

/// A span of time, in nanoseconds of the machine's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interval {
    pub(crate) begin: u64,
    pub(crate) end: u64,
}

/// Records a turn of this rank, or a pause between two; no effect if the process has no trace. `args` makes the members
/// of a JSON object.
pub(crate) fn record(name: &str, time: Interval, args: impl FnOnce() -> String) {
    if let Some(recorder) = recorder() {
        recorder.span(TURNS, "turn", name, time, &args());
    }
}

impl Recorder {
    /// Starts to record this process's work, as `rank` of `ranks`. `file` must be open for appending.
    pub(super) fn start(file: File, rank: usize, ranks: usize, began: u64) {
        let left = MOST / ranks as u64;
        let lines = Mutex::new(Lines { file, text: String::new(), left, ended: None });
        let recorder = Recorder { rank, began, tracks: Tracks::default(), lines };
        let started = RECORDER.get_or_init(|| recorder);
        let process = json!({ "name": format!("rank {rank}") });
        started.append(
            &json!({ "name": "process_name", "ph": "M", "pid": rank, "args": process }).to_string(),
        );
        let order = json!({ "sort_index": rank });
        started.append(
            &json!({ "name": "process_sort_index", "ph": "M", "pid": rank, "args": order })
                .to_string(),
        );
        started.name_track(TURNS, "turns");
    }

    /// Names a track.
    fn name_track(&self, track: usize, name: &str) {
        for (kind, args) in [
            ("thread_name", json!({ "name": name })),
            ("thread_sort_index", json!({ "sort_index": track })),
        ] {
            let line =
                json!({ "name": kind, "ph": "M", "pid": self.rank, "tid": track, "args": args });
            self.append(&line.to_string());
        }
    }

    /// Records a span.
    pub(super) fn span(&self, track: usize, kind: &str, name: &str, time: Interval, args: &str) {
        let Interval { begin, end } = time;
        let (begin, end) = (begin.saturating_sub(self.began), end.saturating_sub(self.began));
        let lasted = end - begin;
        // Any text has a JSON form.
        let name = serde_json::to_string(name).unwrap_or_default();
        let mut line =
            format!(r#"{{"name":{name},"cat":"{kind}","ph":"X","pid":{},"tid":{track}"#, self.rank);
        // Writing to a string cannot fail.
        let _ = write!(
            line,
            r#","ts":{}.{:03},"dur":{}.{:03},"args":{{{args}}}}}"#,
            begin / 1000,
            begin % 1000,
            lasted / 1000,
            lasted % 1000,
        );
        self.append(&line);
    }

    fn append(&self, line: &str) {
        let mut lines = self.lines.lock();
        if lines.ended.is_some() {
            return;
        }
        let bytes = line.len() as u64 + 2;
        if bytes > lines.left {
            lines.ended = Some(format!("the trace of a run takes {} at most", size(MOST)));
            return;
        }
        lines.left -= bytes;
        lines.text.push_str(line);
        lines.text.push_str(",\n");
        if lines.text.len() >= BUFFER {
            lines.write();
        }
    }

    /// Writes the collected spans; returns the reason if some are missing.
    pub(super) fn flush(&self) -> Option<String> {
        let mut lines = self.lines.lock();
        lines.write();
        lines.ended.clone()
    }
}

impl Lines {
    fn write(&mut self) {
        // All lines at once, so that other processes' lines come before or after them.
        if let Err(error) = self.file.write_all(self.text.as_bytes()) {
            self.ended.get_or_insert_with(|| format!("the trace cannot be written: {error}"));
        }
        self.text.clear();
    }
}

//! Spans of work in a trace.

use std::borrow::Cow;
use std::fmt::Write;

use serde::Serialize;

use super::recorder::{Interval, recorder, track_of_this_thread};
use crate::platform::nanoseconds;

/// Kinds of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpanKind {
    /// An operation of a layer, or part of one.
    Operation,
    /// Writing or reading a file.
    Disk,
    /// Waiting for other ranks, or for a turn.
    Wait,
}

/// Work in progress, which ends when this value is dropped. Spans of a thread end in reverse order.
#[must_use]
pub(crate) struct Span(Option<Open>);

struct Open {
    track: usize,
    kind: SpanKind,
    name: Cow<'static, str>,
    begin: u64,
    args: String,
}

/// Begins a span of this thread, if the process has a trace.
pub(crate) fn span(kind: SpanKind, name: &'static str) -> Span {
    begin(kind, || Cow::Borrowed(name))
}

/// Like [`span`], with a name that is costly to make.
pub(crate) fn span_of(kind: SpanKind, name: impl FnOnce() -> String) -> Span {
    begin(kind, || Cow::Owned(name()))
}

fn begin(kind: SpanKind, name: impl FnOnce() -> Cow<'static, str>) -> Span {
    // The track is taken now: threads that end meanwhile leave theirs to later spans.
    let open =
        |track| Open { track, kind, name: name(), begin: nanoseconds(), args: String::new() };
    Span(track_of_this_thread().map(open))
}

impl Span {
    /// Adds an argument.
    pub(crate) fn set(&mut self, key: &'static str, value: impl Serialize) {
        if let Some(open) = &mut self.0 {
            let comma = if open.args.is_empty() { "" } else { "," };
            // Numbers and texts always have a JSON form.
            let value = serde_json::to_string(&value).unwrap_or_default();
            let _ = write!(open.args, r#"{comma}"{key}":{value}"#);
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        let Some(open) = self.0.take() else { return };
        let Some(recorder) = recorder() else { return };
        let kind = match open.kind {
            SpanKind::Operation => "operation",
            SpanKind::Disk => "disk",
            SpanKind::Wait => "wait",
        };
        let time = Interval { begin: open.begin, end: nanoseconds() };
        recorder.span(open.track, kind, &open.name, time, &open.args);
    }
}

//! Reports of a run: typed events from ranks to the launcher, and from there to the console and a file.

mod console;
mod kinds;
mod log;
mod metrics;
mod pipe;
pub(crate) mod printable;
mod progress;
mod recorder;
mod scores;
mod screen;
mod span;
mod stderr;
mod step_bar;
mod stream;
mod trace_file;
mod tracks;

pub use console::Console;
pub use kinds::{
    EpochEvaluation, EpochLog, EpochReport, Evaluation, Event, Failure, RankTurns, RecordedTurns,
    SampleReport, StepReport, TurnSpan, Usage,
};
pub(crate) use log::{log_as_rank, start_log};
pub use metrics::MetricsFile;
pub use pipe::{EventReceiver, EventSender, event_pipe};
pub use printable::{file_name, printable};
pub use progress::{RunProgress, duration, time};
pub(crate) use recorder::{Interval, record};
pub use scores::{Confusion, Metric, PredictionScores, Scores, SetScores};
pub(crate) use span::{Span, SpanKind, span, span_of};
pub(crate) use stderr::show_result;
pub use stderr::{Voice, set_voice, show_always, show_event, show_note, show_status, voice};
pub use step_bar::StepBar;
pub(crate) use stream::{flush, own_streams};
pub use trace_file::{Recording, TraceFile};

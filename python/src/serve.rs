//! The process that workers are forked from, and that watches over them.
#![allow(unsafe_code)] // what Python does around a fork

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use rustix::process::Pid;
use sar::engine::launch::{AssumedGrowth, Limits, Supervision, TurnGrowth, supervise};
use sar::engine::spill_dir::{RunFolder, default_spill_dir, sweep};
use sar::engine::turns::Work;
use sar::event::{Event, EventSender};
use sar::formats::dgl::{PartitionConfig, PartitionSummary};
use sar::platform::blocks::keep_blocks;
use sar::platform::{
    fork, free_memory, prepare_allocator, proportional_bytes, raise_open_files, share_one_heap,
    signals, start_pool,
};
use sar::words::error::ErrorKind;
use sar::words::size::parse_size;
use sar::{Error, Result};

use crate::errors::exception;
use crate::rank::{Rank, Surroundings};

/// Ends this process, with SIGTERM, when the thread that started it ends.
#[pyfunction]
pub(crate) fn end_with_parent() -> PyResult<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))
        .map_err(std::io::Error::from)?)
}

/// Notes that this process has forked another one.
#[pyfunction]
#[pyo3(name = "note_fork")]
pub(crate) fn process_forked() {
    crate::sleep::note_fork();
}

/// The folder for spilled memory if none is named.
#[pyfunction]
#[pyo3(name = "default_spill_dir")]
pub(crate) fn spill_dir() -> PathBuf {
    default_spill_dir()
}

/// Bytes of memory that programs can still take; 0 if the system does not report it.
#[pyfunction]
#[pyo3(name = "free_memory")]
pub(crate) fn memory_left() -> u64 {
    free_memory().unwrap_or(0)
}

/// The bytes that a text such as "3GiB" means.
#[pyfunction]
#[pyo3(name = "parse_size")]
pub(crate) fn parsed_size(text: &str) -> PyResult<u64> {
    parse_size(text).map_err(PyValueError::new_err)
}

/// Forks a worker per partition, calls `work(rank)` in each, and waits for all of them. `on_event` gets (kind, text) of what
/// they report, and the peak of memory beyond this process as it was.
///
/// `work` returns None, or the reason why the worker cannot go on.
#[pyfunction]
pub(crate) fn serve(job: Job, work: Py<PyAny>, on_event: Py<PyAny>) -> PyResult<()> {
    let report = |kind: &str, text: &str, peak: u64| {
        let told = Python::attach(|py| on_event.call1(py, (kind, text, peak)).map(drop));
        told.map_err(|e| Error::internal(format!("an event cannot be reported: {e}")))
    };
    match run(&job, &|rank| call(&work, rank), &report) {
        Err(e) if e.kind() == ErrorKind::Interrupted => {
            Err(PyKeyboardInterrupt::new_err("interrupted"))
        }
        done => done.map_err(exception),
    }
}

/// A run, as `sar_single.run` describes it.
#[derive(FromPyObject)]
pub(crate) struct Job {
    #[pyo3(item)]
    part_json: PathBuf,
    #[pyo3(item)]
    spill_dir: PathBuf,
    #[pyo3(item)]
    budget: u64,
    #[pyo3(item)]
    resident: Option<usize>,
    #[pyo3(item)]
    threads: usize,
}

fn run(
    job: &Job,
    work: &dyn Fn(Rank) -> Result<()>,
    report: &dyn Fn(&str, &str, u64) -> Result<()>,
) -> Result<()> {
    signals::watch()?;
    raise_open_files();
    let partitions = PartitionConfig::open(&job.part_json)?;
    let world_size = partitions.book().num_parts();
    for note in partitions.notes() {
        report("note", note, 0)?;
    }
    let size = |part| PartitionSummary::open(&partitions, part).map(|part| part.size());
    let sizes = (0..world_size).map(size).collect::<Result<Vec<_>>>()?;
    share_one_heap();
    for error in sweep(&job.spill_dir).failed {
        report("note", &format!("of a killed run: {error}"), 0)?;
    }
    let (folder, control) =
        RunFolder::create(&job.spill_dir, world_size, job.resident.unwrap_or(1))?;
    control.compare_ranks(Work::Training, &sizes);
    let control = Arc::new(control);
    let before = proportional_bytes("self");
    report("folder", &folder.path().display().to_string(), before)?;
    let budget = if job.budget == 0 { 0 } else { job.budget + before };
    let supervision = Supervision {
        samples_memory: true,
        control: &control,
        limits: Limits {
            budget,
            uncounted: before,
            resident: job.resident,
            assumed: AssumedGrowth {
                training: TurnGrowth::OfLargestWorker,
                pass: TurnGrowth::Unknown,
            },
        },
        saves: false,
        fork: &fork_interpreter,
        forked: &|| Ok(()),
    };
    let in_worker = |rank, events: &EventSender| {
        prepare_allocator(1.0);
        keep_blocks()?;
        start_pool(job.threads.max(1), true)?;
        let events = events.another()?;
        let folder = folder.path();
        let partitions = &partitions;
        work(Rank::new(Surroundings { rank, control: &control, folder, partitions, events })?)
    };
    let mut on_event = |event, peak: u64| {
        let peak = peak.saturating_sub(before);
        match event {
            Event::Note(text) => report("note", &text, peak),
            Event::Logged(values) => report("log", &values, peak),
            _ => Ok(()),
        }
    };
    let done = supervise(supervision, &in_worker, None, &mut on_event);
    report("end", "", 0)?;
    done
}

/// Calls the worker; its last turn ends when it returns.
fn call(work: &Py<PyAny>, rank: Rank) -> Result<()> {
    Python::attach(|py| {
        let internal = |e: PyErr| Error::internal(e.to_string());
        let rank = Bound::new(py, rank).map_err(internal)?;
        let problem = work.call1(py, (&rank,)).and_then(|done| done.extract::<Option<String>>(py));
        match problem.map_err(internal)? {
            None => {
                rank.borrow().finish();
                Ok(())
            }
            // Its last wait ended because the run is being stopped.
            Some(problem) if problem.is_empty() => Err(Error::aborted()),
            Some(problem) => Err(Error::new(ErrorKind::Worker, problem)),
        }
    })
}

/// Forks this process with its interpreter.
fn fork_interpreter(what: &str, work: &mut dyn FnMut() -> u8) -> Result<Pid> {
    // SAFETY: this thread is attached to the interpreter, as all three demand.
    unsafe { pyo3::ffi::PyOS_BeforeFork() };
    let forked = fork(what, || {
        // SAFETY: as above.
        unsafe { pyo3::ffi::PyOS_AfterFork_Child() };
        work()
    });
    // SAFETY: as above.
    unsafe { pyo3::ffi::PyOS_AfterFork_Parent() };
    forked
}

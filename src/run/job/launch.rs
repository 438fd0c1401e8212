//! The start of a job.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::rank::Rank;
use super::results;
use super::results::{read_results, write_result};
use super::saved_state::RestoredState;
use crate::engine::launch::EventRecord;
use crate::event::{Event, MetricsFile};
use crate::formats::dgl::config::PartitionConfig;
use crate::io::{AtomicFile, MadeFolders};
use crate::run::config::Resources;
use crate::run::launch::connection::{end_everywhere, reports};
use crate::run::launch::last_checkpoint::{keep_checkpoint, open_last};
use crate::run::launch::results_folder::{METRICS, ResultsFolder};
use crate::run::launch::this_machine::ThisMachine;
use crate::run::launch::workers::{Launch, run_workers};
use crate::words::error::{Error, Result};

use crate::run::rank::{CHECKPOINT, PREVIOUS_CHECKPOINT, Surroundings};

/// A user's program: its graph, resources and results folder.
#[derive(Debug, Clone)]
pub struct Job {
    /// The partition directory's JSON file; one worker process per partition.
    pub part_json: PathBuf,
    /// Resources of the machine that the workers use.
    pub resources: Resources,
    /// Results folder, if the job has one, for `metrics.jsonl` and the last two saved states. It must be new or empty,
    /// unless the job is resumed.
    pub out: Option<PathBuf>,
    /// Whether the job resumes from the last state in its results folder, which it then needs. Without a state it starts
    /// at the beginning.
    pub resume: bool,
}

impl Job {
    /// A job without a folder of results, with the default [`Resources`].
    pub fn new(part_json: impl Into<PathBuf>) -> Self {
        Job {
            part_json: part_json.into(),
            resources: Resources::default(),
            out: None,
            resume: false,
        }
    }
}

/// Runs `work` in a worker process per partition, and returns the results by rank. `observe` gets every event. Results
/// pass through bincode, which reads plain values, but neither `serde_json::Value` nor tagged enums.
///
/// Workers are forked and supervised as in `sar-single`: at most [`Resources::resident`] of them compute at a time, all
/// of them together keep the memory budget, the failure of one ends all others, Ctrl-C ends the job, and the spill
/// folder is removed in any case. Call this before the program starts threads.
///
/// ```no_run
/// use sar::run::{Job, launch};
///
/// let job = Job::new("parts/g.json");
/// let nodes = launch(&job, &mut |_| {}, |rank| Ok(rank.partition_data().num_inner_nodes()))?;
/// println!("nodes by partition: {nodes:?}");
/// # Ok::<(), sar::Error>(())
/// ```
///
/// # Errors
/// The first error of a rank, with its number, epoch and phase; [`ErrorKind::Interrupted`](crate::ErrorKind::Interrupted) after Ctrl-C or
/// SIGTERM; if the partitions or the folder of results cannot be used.
///
/// On several machines (`mpirun` starts the program on each), every process returns all ranks' results, and the first
/// one writes the results folder. A process takes part in one such run: a second one needs new processes.
pub fn launch<T: Serialize + DeserializeOwned>(
    job: &Job,
    observe: &mut dyn FnMut(&Event),
    work: impl Fn(&Rank<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    launch_here(job, observe, work).map_err(end_everywhere)
}

fn launch_here<T: Serialize + DeserializeOwned>(
    job: &Job,
    observe: &mut dyn FnMut(&Event),
    work: impl Fn(&Rank<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    if job.resume && job.out.is_none() {
        let problem = "a job that resumes needs the folder of its results";
        return Err(Error::config("resume", problem).with_hint("name it with ‹out›"));
    }
    let partitions = PartitionConfig::open(&job.part_json)?;
    for note in partitions.notes() {
        observe(&Event::Note(note.clone()));
    }
    let out = job.out.as_deref();
    let first = reports();
    let made = out.filter(|_| first).map(|out| MadeFolders::create(out, "out")).transpose()?;
    let folder = out.filter(|_| first || job.resume);
    let folder = folder.map(|out| Folder::take(out, job.resume, first, observe)).transpose()?;
    let restored = folder.as_ref().and_then(|folder| folder.restored.clone());
    let start = restored.as_ref().map_or("", |state| state.checksum.as_str());
    let settings = format!("a job; saves: {}", out.is_some());
    let told = job.resources.partitions.as_ref();
    let machine = ThisMachine::of(&settings, start, &partitions, told)?;
    let restored = restored.map(|state| state.path);
    let work = |here: Surroundings<'_>| {
        let rank = Rank::new(here, out, restored.as_deref())?;
        write_result(here.folder, here.rank, work(&rank)?)?;
        rank.end(&|rank| results::path(here.folder, rank))
    };
    let world_size = partitions.book().num_parts();
    let own = out.filter(|_| first);
    let launch = Launch {
        results: own,
        machine: machine.as_ref(),
        ..Launch::new(&job.resources, &partitions)
    };
    let lock = folder.as_ref().and_then(|folder| folder.lock.clone());
    let record = folder.map(|folder| Box::new(folder) as Box<dyn EventRecord>);
    let finish = |folder: &Path| read_results(folder, world_size);
    let results = run_workers(&launch, &work, record, observe, finish);
    // A record that waits for a disk still shares the lock; nothing can be removed there.
    let is_stuck = lock.is_some_and(|lock| Arc::strong_count(&lock) > 1);
    if let (Err(_), Some(out), false) = (&results, own, is_stuck) {
        // The first error is the result.
        if let Err(error) = AtomicFile::remove_leftovers(out) {
            observe(&Event::Note(error.to_string()));
        }
    }
    if let (Ok(_), Some(made)) = (&results, made) {
        made.keep();
    }
    results
}

/// The folder of a job's results.
struct Folder {
    path: PathBuf,
    /// The metrics file, once there are metrics: a job that fails earlier leaves no file.
    metrics: Option<MetricsFile>,
    /// The state from which the job resumes.
    restored: Option<LastState>,
    /// Whether the last state in the folder is damaged; if so, the one before it is kept.
    last_is_damaged: bool,
    /// The folder's lock, which excludes other runs; only the first of several machines has it.
    lock: Option<Arc<ResultsFolder>>,
}

impl Folder {
    fn take(
        out: &Path,
        resume: bool,
        writes: bool,
        observe: &mut dyn FnMut(&Event),
    ) -> Result<Self> {
        let lock = match (writes, resume) {
            (false, _) => None,
            (true, true) => Some(Arc::new(ResultsFolder::for_resumed_run(out)?)),
            (true, false) => {
                let remedy = "continue the job in it with ‹resume›";
                Some(Arc::new(ResultsFolder::for_new_run(out, false, remedy)?))
            }
        };
        if let Some(note) = lock.as_ref().and_then(|lock| lock.note.as_ref()) {
            observe(&Event::Note(note.clone()));
        }
        let restored = if resume { last_state(out, observe)? } else { None };
        let last_is_damaged =
            restored.as_ref().is_some_and(|state| state.path.ends_with(PREVIOUS_CHECKPOINT));
        let path = out.to_owned();
        Ok(Folder { path, metrics: None, restored, last_is_damaged, lock })
    }

    /// The metrics file, continued after the epoch of the restored state.
    fn metrics(&mut self) -> Result<&mut MetricsFile> {
        let metrics = if let Some(metrics) = self.metrics.take() {
            metrics
        } else {
            let epoch = self.restored.as_ref().map_or(0, |state| state.epoch);
            MetricsFile::resume(&self.path.join(METRICS), epoch)?
        };
        Ok(self.metrics.insert(metrics))
    }
}

impl EventRecord for Folder {
    fn event(&mut self, event: &Event, peak: u64) -> Result<()> {
        match event {
            Event::Log(log) => self.metrics()?.log(log, peak),
            Event::Checkpoint(epoch) => {
                self.metrics.as_ref().map_or(Ok(()), MetricsFile::sync)?;
                keep_checkpoint(&self.path, *epoch, self.last_is_damaged)?;
                self.last_is_damaged = false;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// A verified state.
#[derive(Clone)]
struct LastState {
    path: PathBuf,
    epoch: u32,
    checksum: String,
}

impl LastState {
    fn open(path: PathBuf) -> Result<Self> {
        let (epoch, checksum) = RestoredState::verify(&path)?;
        Ok(LastState { path, epoch, checksum })
    }
}

/// The last intact state in a folder.
fn last_state(out: &Path, observe: &mut dyn FnMut(&Event)) -> Result<Option<LastState>> {
    if ![CHECKPOINT, PREVIOUS_CHECKPOINT].iter().any(|name| out.join(name).exists()) {
        return Ok(None);
    }
    let (found, note) = open_last(out, LastState::open)?;
    if let Some(note) = note {
        observe(&Event::Note(note));
    }
    Ok(Some(found))
}

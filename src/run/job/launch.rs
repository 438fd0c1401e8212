//! The start of a job.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::rank::Rank;
use super::results::{read_results, write_result};
use super::saved_state::RestoredState;
use crate::error::Result;
use crate::event::{Event, MetricsFile};
use crate::formats::dgl::config::PartitionConfig;
use crate::io::{AtomicFile, MadeFolders};
use crate::run::config::Resources;
use crate::run::launch::last_checkpoint::keep_checkpoint;
use crate::run::launch::results_folder::{METRICS, ResultsFolder};
use crate::run::launch::workers::{Launch, run_workers};
use crate::run::rank::{CHECKPOINT, PREVIOUS_CHECKPOINT, Surroundings};

/// A program of the user's own on a partitioned graph: what it runs on.
#[derive(Debug, Clone)]
pub struct Job {
    /// The partition directory's JSON file; one worker process per partition.
    pub part_json: PathBuf,
    /// What the workers take of the machine.
    pub resources: Resources,
    /// The folder of results, if the job has some: `metrics.jsonl`, and the last two states that it has saved. It must be new or
    /// empty, unless the job is resumed.
    pub out: Option<PathBuf>,
    /// Whether the job goes on from the last state in its folder of results. Without one it starts at the beginning.
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

/// Runs `work` in a worker process per partition, and returns what each rank returned, by rank. `observe` gets every event.
///
/// Workers are forked and supervised as those of `sar-single` are: at most [`Resources::resident`] of them compute at a time, all
/// of them together keep the memory budget, a worker that fails or is killed ends all others, Ctrl-C ends the job, and the spill folder is
/// removed whatever happens. Call this before the program starts threads.
///
/// ```no_run
/// use sar::run::{Job, launch};
///
/// let job = Job::new("parts/g.json");
/// let nodes = launch(&job, &mut |_| {}, |rank| Ok(rank.partition().num_inner_nodes()))?;
/// println!("nodes by partition: {nodes:?}");
/// # Ok::<(), sar::Error>(())
/// ```
///
/// # Errors
/// The first error of a rank, with its number, epoch and phase; [`ErrorKind::Interrupted`](crate::ErrorKind::Interrupted) after Ctrl-C or
/// SIGTERM; if the partitions or the folder of results cannot be used.
pub fn launch<T: Serialize + DeserializeOwned>(
    job: &Job,
    observe: &mut dyn FnMut(&Event),
    work: impl Fn(&Rank<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let partitions = PartitionConfig::open(&job.part_json)?;
    for note in partitions.notes() {
        observe(&Event::Note(note.clone()));
    }
    let out = job.out.as_deref();
    let made = out.map(|out| MadeFolders::create(out, "out")).transpose()?;
    let folder = out.map(|out| Folder::take(out, job.resume, observe)).transpose()?;
    let (mut metrics, restored) = match folder {
        Some(Folder { metrics, restored, _lock: lock }) => (Some((metrics, lock)), restored),
        None => (None, None),
    };
    let work = |here: Surroundings<'_>| {
        let rank = Rank::new(here, out, restored.as_deref())?;
        write_result(here.folder, here.rank, &work(&rank)?)?;
        rank.end()
    };
    let mut on_event = |event: Event, peak| {
        match (&event, &mut metrics, out) {
            (Event::Log(log), Some((metrics, _)), _) => metrics.log(log, peak)?,
            (Event::Checkpoint(epoch), _, Some(out)) => {
                // A state that the job has not gone on from because it is damaged does not push out the one before.
                let spare =
                    restored.as_ref().is_some_and(|path| path.ends_with(PREVIOUS_CHECKPOINT));
                keep_checkpoint(out, *epoch, spare)?;
            }
            _ => {}
        }
        observe(&event);
        Ok(())
    };
    let world_size = partitions.book().num_parts();
    let launch = Launch::new(&job.resources, &partitions);
    let results =
        run_workers(&launch, &work, &mut on_event, |folder| read_results(folder, world_size));
    if let (Err(_), Some(out)) = (&results, out) {
        AtomicFile::remove_leftovers(out)?;
    }
    if let (Ok(_), Some(made)) = (&results, made) {
        made.keep();
    }
    results
}

/// The folder of a job's results.
struct Folder {
    metrics: MetricsFile,
    /// The state that the job goes on from.
    restored: Option<PathBuf>,
    /// Keeps other runs from writing to it.
    _lock: ResultsFolder,
}

impl Folder {
    fn take(out: &Path, resume: bool, observe: &mut dyn FnMut(&Event)) -> Result<Self> {
        let lock = if resume {
            ResultsFolder::for_resumed_run(out)?
        } else {
            ResultsFolder::for_new_run(out, false)?
        };
        if let Some(note) = &lock.note {
            observe(&Event::Note(note.clone()));
        }
        let restored = if resume { last_state(out, observe)? } else { None };
        let path = out.join(METRICS);
        let metrics = match &restored {
            Some(state) => MetricsFile::resume(&path, RestoredState::epoch_of(state)?)?,
            None => MetricsFile::resume(&path, 0)?,
        };
        Ok(Folder { metrics, restored, _lock: lock })
    }
}

/// The last state in a folder that is intact.
fn last_state(out: &Path, observe: &mut dyn FnMut(&Event)) -> Result<Option<PathBuf>> {
    let [last, previous] = [CHECKPOINT, PREVIOUS_CHECKPOINT].map(|name| out.join(name));
    if !last.exists() && !previous.exists() {
        return Ok(None);
    }
    let Err(error) = RestoredState::epoch_of(&last) else { return Ok(Some(last)) };
    if RestoredState::epoch_of(&previous).is_err() {
        return Err(error);
    }
    let previous_is_used = format!("{error}; the one before it is used, {}", previous.display());
    observe(&Event::Note(previous_is_used));
    Ok(Some(previous))
}

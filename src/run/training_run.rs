//! A training run, from a configuration to a folder of results.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::config::{check, check_initial, relations};
use super::ended_run::{EndedRun, resume_command};
use super::launch::bounds;
use super::launch::connection::reports;
use super::launch::last_checkpoint::LastCheckpoint;
use super::launch::results_folder::{CONFIG, ResultsFolder, TURNS};
use super::launch::this_machine::{ThisMachine, common};
use super::launch::workers::{Launch, run_workers};
use super::other_machine::take_part;
use super::plan;
use super::run_record::RunRecord;
use super::tensorboard::EventFile;
use super::turns_file::TurnsFile;
use crate::engine::launch::AssumedGrowth;
use crate::event::{Event, TraceFile};
use crate::formats::dgl::config::PartitionConfig;
use crate::io::{AtomicFile, Destination, MadeFolders, RowFile};
use crate::load::GraphFingerprint;
use crate::run::config::RunConfig;
use crate::run::rank::Surroundings;
use crate::words::error::{Error, ErrorKind, Result};

/// Remedy for a folder with an earlier run's results, other than another folder.
const OVERWRITE: &str = "replace the results in it with ‹overwrite›";

/// Trains a model with one worker process per partition. `observe` gets every event.
///
/// Writes `config.toml`, `metrics.jsonl`, `model.safetensors` and, if the run writes checkpoints, `checkpoint.safetensors`
/// and `checkpoint.previous.safetensors` into `config.out`, a new or empty folder.
///
/// # Errors
/// If the folder is not empty, the input or the configuration is wrong, a worker fails, or the run is interrupted. All
/// processes and spill files are gone then.
pub fn train(config: &RunConfig, observe: &mut dyn FnMut(&Event)) -> Result<()> {
    run(config, false, None, observe)
}

/// Like [`train`], into a folder that may hold the results of an earlier run. When the first epoch is complete, these
/// are removed (and only these).
///
/// # Errors
/// As for [`train`].
pub fn train_over(config: &RunConfig, observe: &mut dyn FnMut(&Event)) -> Result<()> {
    run(config, true, None, observe)
}

/// The configuration of the last checkpoint in a run's folder, with this folder for results. What may change when a run is
/// resumed is that of the last start.
///
/// # Errors
/// If the folder has no intact checkpoint.
pub fn resumable(folder: &Path) -> Result<RunConfig> {
    let LastCheckpoint { path, checkpoint, .. } = LastCheckpoint::find(folder)?;
    let config = RunConfig::from_toml(&path, &checkpoint.config)?;
    let path = folder.join(CONFIG);
    // The checkpoint suffices if the file is missing or cannot be read.
    let started = fs::read_to_string(&path).ok();
    let started = started.and_then(|text| RunConfig::from_toml(&path, &text).ok());
    let config = match started {
        Some(started) => config.restarted(&started)?,
        None => config,
    };
    Ok(RunConfig { out: folder.to_owned(), ..config })
}

/// Continues a run from its last checkpoint, or from the one before it if the last one is damaged; the results equal
/// those of an uninterrupted run bit for bit. The number of epochs, folders, threads and residents may be changed in
/// its [`resumable`] configuration.
///
/// # Errors
/// As for [`train`], or if the checkpoint has more epochs than the configuration.
pub fn resume(config: &RunConfig, observe: &mut dyn FnMut(&Event)) -> Result<()> {
    let folder = reports().then(|| ResultsFolder::for_resumed_run(&config.out)).transpose()?;
    let last = LastCheckpoint::find(&config.out)?;
    let epoch = last.checkpoint.progress.epoch;
    if epoch > config.epochs {
        let problem = format!("is {}, but the run has completed {epoch}", config.epochs);
        return Err(
            Error::config("epochs", problem).with_hint(format!("pass ‹epochs={epoch}› or more"))
        );
    }
    if reports() {
        last.notes.iter().for_each(|note| observe(&Event::Note(note.clone())));
        observe(&Event::Note(format!("continuing after epoch {epoch}")));
    }
    run(config, false, Some(Resumed { folder, last: &last }), observe)
}

/// A run that goes on.
struct Resumed<'a> {
    /// The run's folder; on the first of several machines only.
    folder: Option<ResultsFolder>,
    last: &'a LastCheckpoint,
}

/// Trains from the first epoch on, or goes on with a run. `overwrite` replaces the results of an earlier run.
fn run(
    config: &RunConfig,
    overwrite: bool,
    resumed: Option<Resumed<'_>>,
    observe: &mut dyn FnMut(&Event),
) -> Result<()> {
    let began = Instant::now();
    let (mut folder, last) = match resumed {
        Some(Resumed { folder, last }) => (folder, Some(last)),
        None => (None, None),
    };
    let partitions = match last {
        Some(_) => config.open_graph()?,
        None => PartitionConfig::open(&config.part_json)?,
    };
    let config = &checked(config, &partitions, overwrite, last.is_some(), observe)?;
    let graph = GraphFingerprint::of(&partitions)?;
    if let Some(last) = last {
        last.check_graph(&graph, partitions.path(), observe)?;
    }
    // Runs on several machines are not planned: a plan reads all partitions, and some may be on other machines.
    let start = last.map_or("", |last| last.checkpoint.checksum());
    let (settings, told) = (common(config).to_toml()?, config.partitions.as_ref());
    let machine = ThisMachine::of(&settings, start, &partitions, told)?;
    let resumed_from = last.map(|last| last.path.as_path());
    if let Some(machine) = machine.as_ref().filter(|machine| machine.is_another()) {
        return take_part(config, &partitions, machine, &graph, resumed_from, observe);
    }
    // An existing folder is checked before the run is planned; a new one is created only if the run fits. The folder is
    // not touched if only a step is written, elsewhere.
    let writes = config.dump_step.is_none();
    let is_new = last.is_none() && writes;
    let new = || ResultsFolder::for_new_run(&config.out, overwrite, OVERWRITE).map(Some);
    if is_new && config.out.exists() {
        folder = new()?;
    }
    let planned = if machine.is_none() { plan::check(config, &partitions, observe)? } else { None };
    let made =
        if writes { MadeFolders::create(&config.out, "out")? } else { MadeFolders::default() };
    if is_new && folder.is_none() {
        folder = new()?;
    }
    if let Some(note) = folder.as_ref().and_then(|folder| folder.note.clone()) {
        observe(&Event::Note(note));
    }
    let earlier = without_end(folder.as_ref().filter(|_| last.is_some()), &config.out)?;
    let resumed_after = last.map(|last| last.checkpoint.progress.epoch);
    let folder = folder.map(Arc::new);
    let record = RunRecord {
        tensorboard: EventFile::place(config, last.is_none() && !overwrite)?,
        turns: TurnsFile::new(&config.out.join(TURNS), partitions.book().num_parts()),
        config: config.clone(),
        folder: folder.clone(),
        overwrite,
        resumed_after,
        planned,
        last_is_damaged: last.is_some_and(LastCheckpoint::is_previous),
        configured: false,
        files: None,
    };
    let (mut complete, mut saved) = (resumed_after, resumed_after);
    let work =
        |here: Surroundings<'_>| super::rank::train(here, config, Some(&graph), resumed_from);
    let resources = config.resources();
    let launch = Launch {
        io: bounds::io_mode(config, &partitions),
        disk: planned.as_ref().map(|planned| planned.disk),
        assumed: AssumedGrowth::of(config, &partitions, planned.map(|planned| planned.growth)),
        alike: config.grows_alike(),
        saves: writes,
        results: folder.as_ref().map(|_| config.out.as_path()),
        trace: config.trace.as_deref(),
        epochs: config.epochs,
        // One turn per pass over the graph, and the gradients.
        turns: 2 * config.model.num_graphs() as u32,
        machine: machine.as_ref(),
        ..Launch::new(&resources, &partitions)
    };
    let mut follow = |event: &Event| {
        match event {
            Event::Epoch(report) => complete = Some(report.epoch),
            Event::Checkpoint(epoch) => saved = Some(*epoch),
            _ => {}
        }
        observe(event);
    };
    let result = run_workers(&launch, &work, Some(Box::new(record)), &mut follow, |_| Ok(()));
    let seconds = earlier + began.elapsed().as_secs_f64();
    Done { folder, made, complete, saved, seconds }.end(result, config, observe)
}

/// Removes the record of the end of a run that continues. Returns the run's seconds until then.
fn without_end(folder: Option<&ResultsFolder>, out: &Path) -> Result<f64> {
    let Some(folder) = folder else { return Ok(0.0) };
    let ended = EndedRun::read(out).ok().flatten();
    folder.forget_end()?;
    Ok(ended.and_then(|run| run.seconds).unwrap_or(0.0))
}

/// The state of a run whose workers have ended.
struct Done {
    folder: Option<Arc<ResultsFolder>>,
    made: MadeFolders,
    /// The last epochs that are complete and saved.
    complete: Option<u32>,
    saved: Option<u32>,
    /// The duration of the run.
    seconds: f64,
}

impl Done {
    /// Keeps the weights, and records how the run has ended.
    fn end(
        self,
        result: Result<()>,
        config: &RunConfig,
        observe: &mut dyn FnMut(&Event),
    ) -> Result<()> {
        let Done { folder, made, complete, saved, seconds } = self;
        let keep_weights = || folder.as_ref().map_or(Ok(()), |folder| folder.keep_weights());
        let result = result.and_then(|()| keep_weights());
        let failure = result.as_ref().err().map(Error::kind);
        let complete = match failure {
            // The last epoch that was reported is the one that diverged.
            Some(ErrorKind::Diverged) => complete.map(|epoch| epoch.saturating_sub(1)),
            _ => complete,
        };
        let note = match (failure, saved) {
            (Some(ErrorKind::Diverged), saved) => {
                saved.map(|saved| format!("the checkpoint of epoch {saved} is kept"))
            }
            (Some(ErrorKind::Interrupted), _) | (Some(_), Some(_)) => {
                Some(how_to_resume(&config.out, complete, saved))
            }
            _ => None,
        };
        if let Some(note) = note {
            observe(&Event::Note(note));
        }
        // A record that waits for a disk still shares the folder; nothing can be written or removed there.
        let is_stuck = folder.as_ref().is_some_and(|folder| Arc::strong_count(folder) > 1);
        if let Some(epoch) = complete.filter(|_| !is_stuck)
            && let Err(error) =
                EndedRun::new(&result, config, epoch, saved, seconds).write(&config.out)
        {
            observe(&Event::Note(error.to_string()));
        }
        if result.is_ok() || is_stuck {
            made.keep();
        } else if let Err(error) = remove_unfinished(config, folder.is_some()) {
            // The first error is the result.
            observe(&Event::Note(error.to_string()));
        }
        result
    }
}

/// The configuration with settings from the partitions; checks that both agree.
fn checked(
    config: &RunConfig,
    partitions: &PartitionConfig,
    overwrite: bool,
    resumes: bool,
    observe: &mut dyn FnMut(&Event),
) -> Result<RunConfig> {
    // One machine reports for all.
    let mut observe = |event: &Event| {
        if reports() {
            observe(event);
        }
    };
    for note in partitions.notes() {
        observe(&Event::Note(note.clone()));
    }
    let mut config = with_choices(config, partitions, &mut observe)?;
    check(&config)?;
    if let Some(relations) = &config.relations {
        relations::check_messages(&config, relations, partitions.book())?;
    }
    if !resumes {
        if let Some(link) = &mut config.link {
            link.choose_loops(partitions.folder())?;
        }
        relations::check_edge_types(&config, partitions)?;
        check_initial(&config)?;
    }
    if reports() {
        let trace = config.trace.as_deref().map(|path| {
            let hint = "name another file with ‹trace=FILE›, or remove this one";
            let checked = TraceFile::check(path, overwrite);
            // A run that goes on overwrites nothing.
            checked.map_err(|error| if resumes { error.with_hint(hint) } else { error })
        });
        config.trace = trace.transpose()?;
        let step = config.dump_step.as_deref().map(|path| place_of_step(path, overwrite));
        config.dump_step = step.transpose()?;
    }
    check_fanouts(&config, partitions)?;
    Ok(config)
}

/// The path, without links, of the file for a training step.
fn place_of_step(path: &Path, overwrite: bool) -> Result<PathBuf> {
    let place = Destination::find(path, "dump_step", overwrite)?;
    let place = place.regular().ok_or_else(|| {
        let problem = "is not a regular file, which all workers write at the same time";
        Error::input(path, "", problem).with_hint("name another file with ‹dump_step›")
    })?;
    Ok(place.to_owned())
}

/// The configuration with choices that depend on the graph: a layer per edge type, and the split of edges. Notes report
/// the choices and what is predicted.
fn with_choices(
    config: &RunConfig,
    partitions: &PartitionConfig,
    observe: &mut dyn FnMut(&Event),
) -> Result<RunConfig> {
    let relations = relations::of_run(config, partitions)?;
    if let Some(relations) = &relations {
        observe(&Event::Note(relations::note(config, partitions, relations)?));
    }
    let mut config = RunConfig { relations, ..config.clone() };
    if let Some(link) = &mut config.link {
        link.choose_target(partitions.book());
        let notes = link.choose_split(partitions)?.into_iter().chain(link.note(partitions.book())?);
        notes.for_each(|note| observe(&Event::Note(note)));
    }
    Ok(config)
}

/// Removes the unfinished files of a failed run, in its results folder and at the path for a step.
fn remove_unfinished(config: &RunConfig, has_folder: bool) -> Result<()> {
    if has_folder {
        AtomicFile::remove_leftovers(&config.out)?;
    }
    match &config.dump_step {
        Some(path) => RowFile::remove_partial(path),
        None => Ok(()),
    }
}

/// Checks that the numbers of edges to draw suit the layers and edge types.
fn check_fanouts(config: &RunConfig, partitions: &PartitionConfig) -> Result<()> {
    let layers = config.model.sampled_layers();
    let Some(sampling) = config.sampling.as_ref().filter(|_| layers > 0) else { return Ok(()) };
    let by_etype = config.relations.is_some();
    sampling.sampler(layers, partitions.book(), by_etype)?;
    if let Some(fanouts) = &config.evaluation.fanouts {
        fanouts.by_layer(layers, partitions.book(), by_etype, "evaluation.fanouts")?;
    }
    Ok(())
}

/// A sentence with the last saved epoch of an interrupted run and the command that resumes it.
fn how_to_resume(out: &Path, complete: Option<u32>, saved: Option<u32>) -> String {
    let Some(saved) = saved else {
        return "nothing is saved yet: there is no run to resume".to_owned();
    };
    let lost = complete.filter(|complete| *complete > saved);
    let lost = lost.map_or_else(String::new, |complete| format!(" (of {complete} complete ones)"));
    format!("the run is saved as of epoch {saved}{lost}; resume with: {}", resume_command(out))
}

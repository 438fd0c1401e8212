//! Worker processes, one per partition, with their shared folder and control file.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use super::carriage::{Carriage, CarriageSite};
use super::reservation::reserve;
use super::run_link::RunLink;
use super::this_machine::{ThisMachine, not_yet};
use crate::engine::comm::Placement;
use crate::engine::comm::machines::Launched;
use crate::engine::launch::{
    AssumedGrowth, EventRecord, Limits, Supervision, fork_plainly, supervise,
};
use crate::engine::spill_dir::{RunFolder, sweep};
use crate::engine::turns::{Control, Work};
use crate::event::{Event, EventSender, Recording, TraceFile};
use crate::formats::dgl::PartitionSummary;
use crate::formats::dgl::config::PartitionConfig;
use crate::io::IoMode;
use crate::platform::MemoryGroups;
use crate::platform::free_memory;
use crate::platform::signals;
use crate::platform::{give_memory_back, share_one_heap};
use crate::run::config::{Resources, limits};
use crate::run::rank::Surroundings;
use crate::words::error::Result;
use crate::words::size::size;

/// Maximum number of threads of a worker per core. More threads do not help, and a far larger number is a typing error
/// that would block the machine.
const THREADS_PER_CORE: usize = 4;

/// Settings of a run on a small graph that stands for a larger one.
#[derive(Debug, Clone, Copy)]
pub(in crate::run) struct StandIn {
    /// Size of the graph relative to the larger one.
    pub(in crate::run) scale: f64,
    /// Bytes that each waiting rank keeps, from the start.
    pub(in crate::run) share: u64,
    /// Bytes of the page cache that the files of each rank may take although it keeps nothing.
    pub(in crate::run) cache: u64,
}

/// Settings for starting worker processes.
pub(in crate::run) struct Launch<'a> {
    /// Resources of the machine for the workers.
    pub(in crate::run) resources: &'a Resources,
    /// The partition directory; each partition has a worker.
    pub(in crate::run) partitions: &'a PartitionConfig,
    /// Stand-in settings, if the graph stands for a larger one.
    pub(in crate::run) stand_in: Option<StandIn>,
    /// How files are written and read when the page cache has no room for them.
    pub(in crate::run) io: IoMode,
    /// Disk space to reserve for files, in bytes.
    pub(in crate::run) disk: Option<u64>,
    /// Growth of workers that is assumed before it has been measured.
    pub(in crate::run) assumed: AssumedGrowth,
    /// Whether ranks with partitions of one size grow alike: all nodes of the full graph are computed.
    pub(in crate::run) alike: bool,
    /// Whether rank 0 saves its state after an interrupt.
    pub(in crate::run) saves: bool,
    /// The results folder, in which other processes find the run.
    pub(in crate::run) results: Option<&'a Path>,
    /// The file for a trace of all ranks; machines other than the first name their own after it.
    pub(in crate::run) trace: Option<&'a Path>,
    /// Number of epochs; 0 if the work has none.
    pub(in crate::run) epochs: u32,
    /// This machine, in a run on several.
    pub(in crate::run) machine: Option<&'a ThisMachine>,
    /// Expected number of turns per rank and epoch; 0 if unknown.
    pub(in crate::run) turns: u32,
}

impl<'a> Launch<'a> {
    /// Settings for workers that start with only their inputs in memory.
    pub(in crate::run) fn new(resources: &'a Resources, partitions: &'a PartitionConfig) -> Self {
        Launch {
            resources,
            partitions,
            stand_in: None,
            io: resources.io,
            disk: None,
            assumed: AssumedGrowth::default(),
            alike: false,
            saves: false,
            results: None,
            trace: None,
            epochs: 0,
            machine: None,
            turns: 0,
        }
    }

    /// This machine, if it is another than the first of several.
    fn another(&self) -> Option<&'a ThisMachine> {
        self.machine.filter(|machine| machine.is_another())
    }

    /// Limits for the workers' memory.
    fn limits(&self) -> Limits {
        let Launch { resources, assumed, .. } = *self;
        let (budget, resident) = (resources.memory_budget.bytes(), resources.resident);
        Limits { budget, uncounted: 0, resident, assumed }
    }
}

/// Prepares this process and the folder for spilled data; returns the number of threads of a worker. Notes if a run uses
/// less of the machine than requested, or the machine has less.
fn prepare(resources: &Resources, observe: &mut dyn FnMut(&Event)) -> usize {
    share_one_heap();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = resources.threads.min(THREADS_PER_CORE * cores);
    let mut note = |text: String| observe(&Event::Note(text));
    if let Some(Launched { machines, .. }) = Launched::unconnected() {
        note(format!(
            "this process is one of {machines}, but the program is built without MPI, so it works alone (make build-mpi)"
        ));
    }
    if threads < resources.threads {
        let asked = resources.threads;
        note(format!("{asked} threads were requested; a worker gets {threads}"));
    }
    let budget = resources.memory_budget.bytes();
    let limit = MemoryGroups::of_this_process().container_limit();
    if let Some(limit) = limit.filter(|limit| budget > *limit) {
        let (budget, limit) = (size(budget), size(limit));
        note(format!(
            "the memory budget is {budget}, but the container's limit is {limit}: if the run exceeds that limit, the kernel kills a worker"
        ));
    } else if let Some(free) = free_memory().filter(|free| budget > *free) {
        note(format!("the memory budget is {}, but {} are free", size(budget), size(free)));
    }
    for error in sweep(&resources.spill_dir).failed {
        note(format!("left by a killed run: {error}"));
    }
    threads
}

/// Creates the trace of a run, if it has one.
fn trace_of(launch: &Launch<'_>, world_size: usize) -> Result<Option<Arc<TraceFile>>> {
    let Some(path) = launch.trace else { return Ok(None) };
    let own = launch.another().map(|machine| machine.own_path(path));
    TraceFile::create(own.as_deref().unwrap_or(path), world_size).map(Arc::new).map(Some)
}

/// The ranks of this machine.
fn placement_of(machine: Option<&ThisMachine>, world_size: usize) -> Result<Placement> {
    match machine {
        None => Ok(Placement::one_machine(world_size)),
        Some(machine) => {
            Placement::new(world_size, machine.facts.own.clone(), machine.here.machines)
        }
    }
}

/// Assigns ranks to the slots of a control block, and a carrier if there are other machines.
fn number_slots(control: &Control, placement: &Placement) {
    for (slot, rank) in placement.local().iter().enumerate() {
        control.rank(slot).number.set(*rank as u32);
    }
    // Even if all ranks run here, they wait until the machines have compared their facts.
    if placement.machines() > 1 {
        control.add_carrier();
    }
}

/// Records of a run: its trace, and the command's own records.
struct Records {
    trace: Arc<TraceFile>,
    of_command: Option<Box<dyn EventRecord>>,
}

impl EventRecord for Records {
    fn event(&mut self, event: &Event, peak: u64) -> Result<()> {
        if let Event::Progress(progress) = event {
            self.trace.memory(progress);
        }
        self.of_command.as_mut().map_or(Ok(()), |record| record.event(event, peak))
    }

    fn end(&mut self) -> Option<String> {
        let remark = self.of_command.as_mut().and_then(|record| record.end());
        let trace = self.trace.close().err();
        trace.map(|error| format!("the trace is not complete: {error}")).or(remark)
    }
}

/// Checks that workers can be started, and gives the placement of the ranks, with the nodes and edges of each one here.
fn checked(launch: &Launch<'_>) -> Result<(Arc<Placement>, Vec<[u64; 2]>)> {
    let Launch { resources, partitions, machine, .. } = *launch;
    if Launched::here().is_some() && machine.is_none() && launch.stand_in.is_none() {
        return Err(not_yet("this command"));
    }
    limits::check_workers(resources)?;
    let placement = placement_of(machine, partitions.book().num_parts())?;
    // Ranks allocate memory for the nodes of all partitions, so all sizes must be checked against the JSON file first.
    let size = |part: &usize| PartitionSummary::open(partitions, *part).map(|part| part.size());
    let sizes = placement.local().iter().map(size).collect::<Result<_>>()?;
    Ok((Arc::new(placement), sizes))
}

/// Makes the folder of a run, and the control block of this machine's ranks with their numbers of nodes and edges.
fn run_folder(
    launch: &Launch<'_>,
    placement: &Placement,
    sizes: &[[u64; 2]],
) -> Result<(RunFolder, Arc<Control>)> {
    let Resources { spill_dir, resident, memory_budget, .. } = launch.resources;
    let ranks = placement.local().len();
    let (folder, control) = RunFolder::create(spill_dir, ranks, resident.unwrap_or(1))?;
    number_slots(&control, placement);
    for work in Work::ALL {
        // Passes before and between epochs on samples compute all nodes.
        control.compare_ranks(work, if launch.alike || work.is_pass() { sizes } else { &[] });
    }
    control.run().begin(std::process::id(), launch.epochs, memory_budget.bytes());
    control.run().expected_turns.set(launch.turns);
    control.set_parked_share(launch.stand_in.map_or(0, |stand_in| stand_in.share));
    Ok((folder, Arc::new(control)))
}

/// Runs `work` in one process per partition and waits for all of them. `record` stores their reports, and `observe` gets
/// them; on a machine other than the first, it gets remarks only, which name the machine. `finish` gets the run's folder
/// before it is removed, if all ended well. [`supervise`] lists the errors.
pub(in crate::run) fn run_workers<T>(
    launch: &Launch<'_>,
    work: &dyn Fn(Surroundings<'_>) -> Result<()>,
    record: Option<Box<dyn EventRecord>>,
    observe: &mut dyn FnMut(&Event),
    finish: impl FnOnce(&Path) -> Result<T>,
) -> Result<T> {
    let Launch { resources, partitions, stand_in, io, machine, .. } = *launch;
    let observe: &mut dyn FnMut(&Event) = &mut |event: &Event| match launch.another() {
        Some(machine) => machine.remark(event).iter().for_each(&mut *observe),
        None => observe(event),
    };
    let (placement, sizes) = checked(launch)?;
    signals::check()?;
    let threads = prepare(resources, observe);
    let (run_folder, control) = run_folder(launch, &placement, &sizes)?;
    let link = launch.results.map(|out| RunLink::create(out, &run_folder.control_path()));
    if let Some(Err(note)) = &link {
        observe(&Event::Note(note.clone()));
    }
    let folder = run_folder.path();
    let reserve = launch.disk.map(|bytes| reserve(folder, bytes, observe));
    let reserve = reserve.transpose()?.flatten();
    let trace = trace_of(launch, placement.world_size())?;
    let work = |slot: usize, events: &EventSender| {
        let rank = placement.local()[slot];
        let recording = trace.as_ref().map(|trace| trace.record(rank)).transpose()?;
        work(Surroundings {
            rank,
            slot,
            placement: &placement,
            control: &control,
            folder,
            events,
            partitions,
            resources,
            threads,
            io,
            stand_in: stand_in.map(|stand_in| stand_in.scale),
            cache: stand_in.map_or(0, |stand_in| stand_in.cache),
            waiting: None,
            reserve: reserve.as_deref(),
        })?;
        match recording.and_then(Recording::end) {
            Some(missing) => events.send(Event::Note(format!("rank {rank}: {missing}"))),
            None => Ok(()),
        }
    };
    let carriage = RefCell::new(None);
    let forked = || {
        if let Some(machine) = machine {
            let (control, folder, reserve) = (control.clone(), folder.to_owned(), reserve.clone());
            let site = CarriageSite { control, folder, io, reserve };
            *carriage.borrow_mut() = Some(Carriage::start(machine, site)?);
        }
        Ok(())
    };
    // Workers are copies of this process, including memory that it has freed but not returned.
    give_memory_back();
    let supervision = Supervision {
        control: &control,
        limits: launch.limits(),
        saves: launch.saves,
        samples_memory: stand_in.is_none(),
        fork: &fork_plainly,
        forked: &forked,
    };
    let records = match &trace {
        None => record,
        Some(trace) => Some(Box::new(Records { trace: trace.clone(), of_command: record }) as _),
    };
    let result = supervise(supervision, &work, records, &mut |event, _| {
        observe(&event);
        Ok(())
    });
    let carriage = carriage.take();
    let result = match &carriage {
        Some(carriage) => carriage.end(result),
        None => result,
    };
    let result = result.and_then(|()| finish(folder));
    if let Some(carriage) = carriage {
        drop(run_folder);
        carriage.leave();
    }
    result
}

//! The launcher's loop: signals, events and deaths, one after the other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam::channel::{never, select_biased};
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::SIGCHLD;

use super::governor::Governor;
use super::limits::Limits;
use super::listeners::{Listeners, LoopInput};
use super::memory::MemorySampler;
use super::out_of_memory::OutOfMemory;
use super::progress_meter::ProgressMeter;
use super::record::{EventRecord, RecordThread, RunOutcome};
use super::stall::StallWatch;
use super::worker::Worker;
use crate::engine::turns::{Activity, Control, Request, SaveClock, Stop};
use crate::event::{
    Event, EventSender, Failure, event_pipe, log_as_rank, own_streams, show_status,
};
use crate::platform;
use crate::platform::signals;
use crate::words::error::{Error, ErrorKind, Result, exit};

/// Time that workers have to stop on their own after one has failed.
const GRACE: Duration = Duration::from_secs(1);
/// Time that processes left behind by workers have to end after SIGTERM.
const LAST_GRACE: Duration = Duration::from_millis(500);
/// Interval at which deaths and memory are checked when nothing happens.
const TICK: Duration = Duration::from_millis(50);

/// A function that forks a process ("a worker"), runs some work in it, and ends it with the exit code that the work
/// returns.
pub type Fork<'a> = &'a dyn Fn(&str, &mut dyn FnMut() -> u8) -> Result<Pid>;

/// Settings for the supervision of a run's workers.
#[derive(Clone, Copy)]
pub struct Supervision<'a> {
    /// The control block of the run, which lists the ranks on this machine.
    pub control: &'a Arc<Control>,
    /// Limits for the memory of all processes together.
    pub limits: Limits,
    /// Whether the memory of all processes is sampled and kept within the limits.
    pub samples_memory: bool,
    /// Whether rank 0 saves its state after an interrupt, for which it may take any time.
    pub saves: bool,
    /// The function that forks a worker: [`fork_plainly`], or an interpreter's.
    pub fork: Fork<'a>,
    /// Called once after workers have been forked, when this process may start threads.
    pub forked: &'a dyn Fn() -> Result<()>,
}

/// A plain fork, for programs without an interpreter.
///
/// # Errors
/// If this process has several threads, or the system starts no more processes.
pub fn fork_plainly(what: &str, work: &mut dyn FnMut() -> u8) -> Result<Pid> {
    // Threads that write to standard output and standard error hold no lock that a worker takes.
    if platform::num_threads() > 1 + own_streams() {
        let problem = "workers can only be forked while the program has one thread";
        return Err(Error::config("launcher", problem).with_hint(
            "start training before threads, or run `sar-single` as a separate process",
        ));
    }
    platform::fork(what, || {
        // `pkill`, systemd and Slurm signal all processes; rank 0 has the state to save.
        signals::leave_to_launcher();
        work()
    })
}

/// Forks one worker per rank of this machine, each running `work` with its slot in the control block, and waits for all
/// of them. A thread records their events in `record`, if there is one. `on_event` is called with each recorded event
/// and the largest memory of the process tree so far; it must not block.
///
/// # Errors
/// The first failure of a worker, with rank, epoch and phase; [`ErrorKind::Interrupted`] after Ctrl-C or SIGTERM; an
/// error of `on_event`. In every case, all workers have ended when this returns, and so have the processes that they
/// started, unless these have left their process groups.
pub fn supervise(
    supervision: Supervision<'_>,
    work: &dyn Fn(usize, &EventSender) -> Result<()>,
    record: Option<Box<dyn EventRecord>>,
    on_event: &mut dyn FnMut(Event, u64) -> Result<()>,
) -> Result<()> {
    let Supervision { control, fork, forked, .. } = supervision;
    let (sender, receiver) = event_pipe()?;
    let mut supervisor = Supervisor::new(supervision);
    for slot in 0..control.num_ranks() {
        match fork("a worker", &mut || run_worker(slot, control, &sender, work)) {
            Ok(pid) => {
                let status = control.rank(slot);
                status.process.set(pid.as_raw_nonzero().get().unsigned_abs());
                let rank = status.number.get() as usize;
                supervisor.workers.push(Worker::new(slot, rank, pid));
            }
            Err(error) => {
                supervisor.kill_all();
                supervisor.failure = Some(error);
                break;
            }
        }
    }
    supervisor.events = Some(sender);
    let listeners = match forked().and_then(|()| Listeners::start(receiver)) {
        Ok(listeners) => listeners,
        Err(error) => return supervisor.give_up(error),
    };
    let recorder = match RecordThread::start(record, listeners.inputs.0.clone()) {
        Ok(recorder) => recorder,
        Err(error) => {
            let result = supervisor.give_up(error);
            listeners.stop();
            return result;
        }
    };
    if signals::received() {
        // The signal arrived before the listeners were started.
        supervisor.interrupt();
    }
    let result = supervisor.run(&listeners, recorder, on_event);
    listeners.stop();
    result
}

/// Runs a worker process; returns its exit code.
fn run_worker(
    slot: usize,
    control: &Control,
    events: &EventSender,
    work: &dyn Fn(usize, &EventSender) -> Result<()>,
) -> u8 {
    static PANIC: Mutex<Option<String>> = Mutex::new(None);
    let rank = control.rank(slot).number.get() as usize;
    log_as_rank(rank);
    // The launcher reports the error once; a worker's own trace would be mixed into its output.
    std::panic::set_hook(Box::new(|info| *PANIC.lock() = Some(info.to_string())));
    let result = catch_unwind(AssertUnwindSafe(|| work(slot, events))).unwrap_or_else(|_| {
        let text = PANIC.lock().take().unwrap_or_else(|| "panicked".to_owned());
        Err(Error::internal(text.replace('\n', " ")))
    });
    let Err(error) = result else {
        control.rank(slot).set_activity(Activity::Finished);
        return exit::DONE;
    };
    if !matches!(error.kind(), ErrorKind::Aborted | ErrorKind::Interrupted) {
        let failure = Failure { rank, error: (&error).into() };
        // If the pipe is gone, so is the launcher.
        let _ = events.send(Event::Failed(failure));
    }
    if error.kind() != ErrorKind::Interrupted {
        control.stop(Stop::Aborted);
    }
    error.exit_code()
}

struct Supervisor {
    control: Arc<Control>,
    workers: Vec<Worker>,
    /// Sending end of the workers' pipe, dropped with the last worker.
    events: Option<EventSender>,
    memory: MemorySampler,
    samples_memory: bool,
    out_of_memory: OutOfMemory,
    stalls: StallWatch,
    progress: ProgressMeter,
    /// Bytes of all processes at the last sample.
    used: u64,
    governor: Governor,
    failure: Option<Error>,
    /// The error of the first worker that ended badly without a message.
    silent_death: Option<Error>,
    interrupts: u32,
    saves: bool,
    /// The last complete epoch, and the last saved one.
    complete: u32,
    saved: u32,
    /// Time at which the last epoch was complete.
    completed: Instant,
    /// Clock for ranks that save together.
    save_clock: SaveClock,
    kill_at: Option<Instant>,
    /// Whether every call of `on_event` has succeeded.
    shows: bool,
}

impl Supervisor {
    fn new(supervision: Supervision<'_>) -> Self {
        let Supervision { control, limits, samples_memory, saves, .. } = supervision;
        let control = control.clone();
        let memory = MemorySampler::new();
        let governor = Governor::new(control.clone(), limits);
        let progress = ProgressMeter::new(control.clone());
        Supervisor {
            control,
            workers: Vec::new(),
            events: None,
            memory,
            samples_memory,
            out_of_memory: OutOfMemory::watch(),
            stalls: StallWatch::new(),
            progress,
            used: 0,
            governor,
            failure: None,
            silent_death: None,
            interrupts: 0,
            saves,
            complete: 0,
            saved: 0,
            completed: Instant::now(),
            save_clock: SaveClock::often(),
            kill_at: None,
            shows: true,
        }
    }

    fn run(
        mut self,
        listeners: &Listeners,
        mut recorder: RecordThread,
        on_event: &mut dyn FnMut(Event, u64) -> Result<()>,
    ) -> Result<()> {
        let mut events = listeners.events.clone();
        let mut events_ended = false;
        while !events_ended
            || self.workers.iter().any(Worker::is_alive)
            || recorder.is_waited_for(self.outcome())
        {
            let waits = recorder.is_full() && self.control.stopped().is_none();
            let source = if waits { never() } else { events.clone() };
            select_biased! {
                recv(listeners.inputs.1) -> input => match input {
                    Ok(LoopInput::Signal(SIGCHLD)) | Err(_) => {}
                    Ok(LoopInput::Signal(_)) => self.interrupt(),
                    Ok(LoopInput::Recorded(event, recorded)) => {
                        recorder.recorded();
                        match recorded {
                            Ok(()) => self.show(*event, on_event),
                            Err(error) => self.fail(error),
                        }
                    }
                    Ok(LoopInput::EndOfRecords(remark)) => {
                        recorder.ended();
                        if let Some(text) = remark {
                            self.show(Event::Note(text), on_event);
                        }
                    }
                },
                recv(source) -> event => if let Ok(event) = event {
                    self.take(event, &mut recorder, on_event);
                } else {
                    (events_ended, events) = (true, never());
                },
                default(TICK) => {}
            }
            self.look(&mut recorder, on_event);
            if let Err(error) = self.reap().and_then(|()| self.close_events()) {
                self.kill_all();
                return Err(error);
            }
            if self.control.has_carrier()
                && self.interrupts == 0
                && self.control.stopped().is_some()
            {
                // Another machine has ended the run, or this machine's carrier has.
                self.stop_others();
            }
            if self.kill_at.is_some_and(|at| Instant::now() >= at) {
                let saves = self.saves && self.is_interrupted();
                self.kill_from(usize::from(saves));
            }
            if events_ended && !self.workers.iter().any(Worker::is_alive) {
                recorder.close();
            }
        }
        if recorder.is_stuck() {
            let text = "the last events of the run are not recorded: a disk does not answer";
            self.show(Event::Note(text.to_owned()), on_event);
        }
        self.end_descendants();
        match (self.interrupts, self.failure, self.silent_death) {
            // All workers have finished, perhaps after an interrupt.
            (0 | 1, None, None) => Ok(()),
            (0 | 1, Some(error), _) | (0, None, Some(error)) => Err(error),
            _ => Err(Error::interrupted()),
        }
    }

    /// Closes the workers' pipe when no worker is left.
    fn close_events(&mut self) -> Result<()> {
        if !self.workers.iter().any(Worker::is_alive)
            && let Some(events) = &self.events
            && events.close()?
        {
            self.events = None;
        }
        Ok(())
    }

    fn outcome(&self) -> RunOutcome {
        match (self.interrupts, &self.failure, &self.silent_death) {
            (0 | 1, None, None) => RunOutcome::Good,
            _ if self.is_interrupted() => RunOutcome::Interrupted,
            _ => RunOutcome::Failed,
        }
    }

    /// Whether one interrupt, of this machine or another one, has ended the run, and nothing else.
    fn is_interrupted(&self) -> bool {
        let by_others = self.interrupts == 0 && self.control.stopped() == Some(Stop::Interrupted);
        self.failure.is_none() && (self.interrupts == 1 || by_others)
    }

    /// Samples memory, stalled workers and the progress of the run.
    fn look(
        &mut self,
        recorder: &mut RecordThread,
        on_event: &mut dyn FnMut(Event, u64) -> Result<()>,
    ) {
        let usage = self.samples_memory.then(|| self.memory.sample(&self.workers, &self.control));
        if let Some(usage) = usage.flatten() {
            self.used = usage.sum;
            let run = self.control.run();
            run.used.set(usage.sum);
            run.peak.set(self.memory.peak());
            if let Err(error) = self.governor.watch(usage) {
                self.fail(error);
            }
        }
        let run = self.control.run();
        if run.saves_together() && self.save_clock.is_time() && !run.is_asked(Request::Save) {
            self.control.ask(Request::Save);
        }
        for stalled in self.stalled() {
            self.show(Event::Note(stalled), on_event);
        }
        let progress = self.progress.look(self.used).filter(|_| self.control.stopped().is_none());
        if let Some(progress) = progress.map(Event::Progress) {
            let shown = if recorder.is_idle() {
                recorder.take(Box::new(progress), self.memory.peak())
            } else {
                Some(Box::new(progress))
            };
            if let Some(progress) = shown {
                self.show(*progress, on_event);
            }
        }
    }

    fn take(
        &mut self,
        event: Box<Event>,
        recorder: &mut RecordThread,
        on_event: &mut dyn FnMut(Event, u64) -> Result<()>,
    ) {
        if let Event::Failed(failure) = *event {
            let worker = self.workers.iter().find(|worker| worker.rank() == failure.rank);
            let error = worker.map(|worker| worker.failed(&self.control, failure.error));
            let unknown = || Error::internal("an unknown rank failed".to_owned());
            self.fail(error.unwrap_or_else(unknown));
            return;
        }
        match *event {
            Event::Epoch(report) => {
                (self.complete, self.completed) = (report.epoch, Instant::now());
            }
            Event::Checkpoint(epoch) => {
                self.saved = epoch;
                self.save_clock.saved(self.completed);
            }
            _ => {}
        }
        if matches!(*event, Event::Epoch(_) | Event::Log(_) | Event::Step) {
            self.governor.epoch();
        }
        if let Some(event) = recorder.take(event, self.memory.peak()) {
            self.show(*event, on_event);
        }
    }

    /// Calls `on_event`, unless it has failed.
    fn show(&mut self, event: Event, on_event: &mut dyn FnMut(Event, u64) -> Result<()>) {
        if self.shows
            && let Err(error) = on_event(event, self.memory.peak())
        {
            self.shows = false;
            self.fail(error);
        }
    }

    /// Reports of stalled workers; none while the run is paused or waits for other machines.
    fn stalled(&mut self) -> Vec<String> {
        if self.control.run().is_asked(Request::Pause) || self.control.ranks_have_arrived() {
            self.stalls = StallWatch::new();
            return Vec::new();
        }
        self.stalls.look(&self.workers, &self.control)
    }

    /// Ends all workers before the loop has started.
    fn give_up(mut self, error: Error) -> Result<()> {
        self.kill_all();
        while self.workers.iter().any(Worker::is_alive) {
            self.reap()?;
            std::thread::sleep(TICK);
        }
        Err(error)
    }

    /// Handles Ctrl-C: the first one stops workers at their next wait, the second one kills them. If ranks save
    /// together and an epoch has not been saved, the first one stops workers at the end of the epoch, or of the run if
    /// no epoch is left.
    fn interrupt(&mut self) {
        self.interrupts += 1;
        if self.interrupts > 1 {
            self.kill_all();
            return;
        }
        let place = if self.control.run().saves_together() && self.complete > self.saved {
            self.control.take_back(Request::Pause);
            self.control.ask(Request::End);
            "when this epoch is saved or the run is complete"
        } else {
            self.control.stop(Stop::Interrupted);
            "at the next phase"
        };
        // On several machines, the first one reports.
        if self.workers.first().is_none_or(|worker| worker.rank() == 0) {
            show_status(&format!("stopping {place} (again to stop at once)"));
        }
    }

    /// Records a failure; the first one is reported.
    fn fail(&mut self, error: Error) {
        self.failure.get_or_insert(error);
        self.stop_others();
    }

    fn stop_others(&mut self) {
        self.control.stop(Stop::Aborted);
        self.kill_at.get_or_insert_with(|| Instant::now() + GRACE);
    }

    fn kill_all(&mut self) {
        self.kill_from(0);
    }

    /// Kills all ranks from `first` on.
    fn kill_from(&mut self, first: usize) {
        self.control.stop(Stop::Aborted);
        for worker in self.workers.iter().skip(first).filter(|worker| worker.is_alive()) {
            // This fails only if the worker has just ended on its own; it is reaped below.
            let _ = kill_process(worker.pid(), Signal::KILL);
        }
    }

    fn reap(&mut self) -> Result<()> {
        let mut deaths: Vec<Error> = Vec::new();
        for worker in &mut self.workers {
            if !worker.is_alive() {
                worker.has_descendants();
                continue;
            }
            let status = worker.reap()?;
            deaths.extend(
                status.and_then(|status| worker.ended(&self.control, status, &self.out_of_memory)),
            );
        }
        if let Some(death) = deaths.into_iter().next() {
            self.silent_death.get_or_insert(death);
            self.stop_others();
        }
        Ok(())
    }

    /// Waits for processes that workers have left behind, which have received SIGTERM, and then kills them.
    fn end_descendants(&mut self) {
        let end = Instant::now() + LAST_GRACE;
        while self.workers.iter_mut().any(Worker::has_descendants) {
            if Instant::now() >= end {
                self.workers.iter().for_each(|worker| worker.signal_descendants(Signal::KILL));
                break;
            }
            std::thread::sleep(TICK / 10);
        }
    }
}

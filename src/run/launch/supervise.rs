//! The launcher's loop: signals, events and deaths, one after the other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, RecvTimeoutError, unbounded};
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, waitpid};
use signal_hook::consts::SIGCHLD;
use signal_hook::iterator::{Handle, Signals};

use super::governor::{Governor, Limits};
use super::memory::MemorySampler;
use super::out_of_memory::OutOfMemory;
use super::progress_meter::ProgressMeter;
use super::stall::StallWatch;
use super::worker::Worker;
use crate::engine::turns::{Activity, Control, Stop};
use crate::error::{Error, ErrorKind, Result, exit};
use crate::event::{
    Event, EventReceiver, EventSender, Failure, event_pipe, log_as_rank, show_status,
};
use crate::platform::signals;
use crate::platform::{self, has_one_thread};

/// Time that workers have to stop by themselves after one has failed.
const GRACE: Duration = Duration::from_secs(1);
/// Interval at which deaths and memory are checked when nothing happens.
const TICK: Duration = Duration::from_millis(50);

/// Starts a process ("a worker") that runs some work and ends with the exit code it gives.
pub type Fork<'a> = &'a dyn Fn(&str, &mut dyn FnMut() -> u8) -> Result<Pid>;

/// The workers of a run.
#[derive(Clone, Copy)]
pub struct Supervision<'a> {
    /// The control block of the run; it says which ranks there are on this machine.
    pub control: &'a Arc<Control>,
    /// The memory that all processes may take together.
    pub limits: Limits,
    /// Whether the memory of all processes is looked at again and again, and held within the limits.
    pub samples_memory: bool,
    /// Whether rank 0 saves something after an interrupt. It gets all the time it needs for that.
    pub saves: bool,
    /// How a worker is forked: [`fork_plainly`], or what an interpreter does around it.
    pub fork: Fork<'a>,
    /// Called once when workers have been forked: from then on this process may have other threads.
    pub forked: &'a dyn Fn() -> Result<()>,
}

/// A plain fork, for programs without an interpreter.
///
/// # Errors
/// If the system starts no more processes.
pub fn fork_plainly(what: &str, work: &mut dyn FnMut() -> u8) -> Result<Pid> {
    platform::fork(what, work)
}

/// Forks one worker per rank of this machine, each running `work` with its slot in the control block, and waits for all of them. `on_event` is called with their events and the
/// largest memory of the process tree so far.
///
/// # Errors
/// The first failure of a worker, with rank, epoch and phase; [`ErrorKind::Interrupted`] after Ctrl-C or SIGTERM; an error of
/// `on_event`. In every case all workers have ended when this returns.
pub fn supervise(
    supervision: Supervision<'_>,
    work: &dyn Fn(usize, &EventSender) -> Result<()>,
    on_event: &mut dyn FnMut(Event, u64) -> Result<()>,
) -> Result<()> {
    let Supervision { control, fork, forked, .. } = supervision;
    if !has_one_thread() {
        let problem = "workers can only be forked while the program has one thread";
        return Err(Error::config("launcher", problem).with_hint(
            "start training before threads, or run `sar-single` as a separate process",
        ));
    }
    let (sender, receiver) = event_pipe()?;
    let mut supervisor = Supervisor::new(supervision);
    for slot in 0..control.num_ranks() {
        match fork("a worker", &mut || run_worker(slot, control, &sender, work)) {
            Ok(pid) => {
                control.rank(slot).set_process(pid.as_raw_nonzero().get().unsigned_abs());
                supervisor.workers.push(Worker::new(slot, control.rank(slot).number(), pid));
            }
            Err(error) => {
                supervisor.kill_all();
                supervisor.failure = Some(error);
                break;
            }
        }
    }
    drop(sender);
    let listeners = match forked().and_then(|()| Listeners::start(receiver)) {
        Ok(listeners) => listeners,
        Err(error) => return supervisor.give_up(error),
    };
    if signals::received() {
        // The signal came before the listeners.
        supervisor.interrupt();
    }
    let result = supervisor.run(&listeners.inputs, on_event);
    listeners.stop();
    result
}

/// The life of a worker process; returns its exit code.
fn run_worker(
    slot: usize,
    control: &Control,
    events: &EventSender,
    work: &dyn Fn(usize, &EventSender) -> Result<()>,
) -> u8 {
    static PANIC: Mutex<Option<String>> = Mutex::new(None);
    let rank = control.rank(slot).number();
    log_as_rank(rank);
    // The launcher reports the error, once; a worker's own trace would only mix into its output.
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
        let hint = error.marked_hint().map(str::to_owned);
        let failure = Failure { rank, kind: error.kind(), problem: error.marked(), hint };
        // If the pipe is gone the launcher is too, and nobody is left to report to.
        let _ = events.send(Event::Failed(failure));
    }
    control.stop(Stop::Aborted);
    error.exit_code()
}

/// The inputs of the loop.
enum Input {
    Signal(i32),
    Event(Box<Event>),
    /// No worker is left that could send events.
    EndOfEvents,
}

/// The threads that turn signals and events into inputs.
struct Listeners {
    inputs: Receiver<Input>,
    signals: Handle,
    threads: Vec<JoinHandle<()>>,
}

impl Listeners {
    fn start(mut events: EventReceiver) -> Result<Self> {
        let (sender, inputs) = unbounded();
        let watched = signals::ending().iter().chain(&[SIGCHLD]);
        let mut signals =
            Signals::new(watched).map_err(|e| Error::io("watch", Path::new("signals"), e))?;
        let handle = signals.handle();
        let from_signals = sender.clone();
        let signal_thread = spawn("signals", move || {
            for signal in signals.forever() {
                if from_signals.send(Input::Signal(signal)).is_err() {
                    break;
                }
            }
        })?;
        let event_thread = spawn("events", move || {
            // A frame that cannot be read means that the pipe is broken for good.
            while let Ok(Some(event)) = events.receive() {
                if sender.send(Input::Event(Box::new(event))).is_err() {
                    return;
                }
            }
            let _ = sender.send(Input::EndOfEvents);
        });
        match event_thread {
            Ok(event_thread) => Ok(Listeners {
                inputs,
                signals: handle,
                threads: vec![signal_thread, event_thread],
            }),
            Err(error) => {
                Listeners { inputs, signals: handle, threads: vec![signal_thread] }.stop();
                Err(error)
            }
        }
    }

    /// Ends the threads, so that this process may fork again.
    fn stop(self) {
        self.signals.close();
        for thread in self.threads {
            // They end by themselves and do not panic; there would be nothing to do about it.
            let _ = thread.join();
        }
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map_err(|e| Error::no_process("a thread", &e))
}

struct Supervisor {
    control: Arc<Control>,
    workers: Vec<Worker>,
    memory: MemorySampler,
    samples_memory: bool,
    out_of_memory: OutOfMemory,
    stalls: StallWatch,
    progress: ProgressMeter,
    /// Bytes that all processes took when they were last looked at.
    used: u64,
    governor: Governor,
    failure: Option<Error>,
    /// The error of the first worker that ended badly without saying why.
    silent_death: Option<Error>,
    interrupts: u32,
    saves: bool,
    kill_at: Option<Instant>,
    /// Whether all events so far have been recorded.
    records: bool,
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
            kill_at: None,
            records: true,
        }
    }

    fn run(
        mut self,
        inputs: &Receiver<Input>,
        on_event: &mut dyn FnMut(Event, u64) -> Result<()>,
    ) -> Result<()> {
        let mut events_ended = false;
        while !events_ended || self.workers.iter().any(Worker::is_alive) {
            match inputs.recv_timeout(TICK) {
                Ok(Input::Signal(SIGCHLD)) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Input::Signal(_)) => self.interrupt(),
                Ok(Input::Event(event)) => self.take(*event, on_event),
                Ok(Input::EndOfEvents) | Err(RecvTimeoutError::Disconnected) => events_ended = true,
            }
            let usage =
                self.samples_memory.then(|| self.memory.sample(&self.workers, &self.control));
            if let Some(usage) = usage.flatten() {
                self.used = usage.sum;
                self.control.run().set_memory(usage.sum, self.memory.peak());
                if let Err(error) = self.governor.watch(usage) {
                    self.fail(error);
                }
            }
            let stalled = self.stalled().into_iter().map(Event::Note);
            let progress =
                self.progress.look(self.used).filter(|_| self.control.stopped().is_none());
            for event in stalled.chain(progress.map(Event::Progress)) {
                if let Err(error) = on_event(event, self.memory.peak()) {
                    self.fail(error);
                }
            }
            self.reap()?;
            if self.control.has_carrier()
                && self.interrupts == 0
                && self.control.stopped().is_some()
            {
                // Another machine ends the run, or this one's carrier does.
                self.stop_others();
            }
            if self.kill_at.is_some_and(|at| Instant::now() >= at) {
                let saves = self.saves && self.interrupts == 1 && self.failure.is_none();
                self.kill_from(usize::from(saves));
            }
        }
        match self.failure.or(self.silent_death) {
            _ if self.interrupts > 0 => Err(Error::interrupted()),
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn take(&mut self, event: Event, on_event: &mut dyn FnMut(Event, u64) -> Result<()>) {
        if let Event::Failed(failure) = event {
            let worker = self.workers.iter().find(|worker| worker.rank() == failure.rank);
            let error = worker.map(|worker| worker.failed(&self.control, failure));
            let unknown = || Error::internal("an unknown rank failed".to_owned());
            self.fail(error.unwrap_or_else(unknown));
            return;
        }
        if matches!(event, Event::Epoch(_) | Event::Log(_) | Event::Step) {
            self.governor.epoch();
        }
        // After an event that was not recorded, a checkpoint would be ahead of the metrics.
        if self.records
            && let Err(error) = on_event(event, self.memory.peak())
        {
            self.records = false;
            self.fail(error);
        }
    }

    /// Reports of workers that do nothing, which is what paused ones are asked to do, and those that wait for other machines.
    fn stalled(&mut self) -> Vec<String> {
        if self.control.run().pause_asked() || self.control.ranks_have_arrived() {
            self.stalls = StallWatch::new();
            return Vec::new();
        }
        self.stalls.look(&self.workers, &self.control)
    }

    /// Ends all workers before the loop that listens to them has started.
    fn give_up(mut self, error: Error) -> Result<()> {
        self.kill_all();
        while self.workers.iter().any(Worker::is_alive) {
            self.reap()?;
            std::thread::sleep(TICK);
        }
        Err(error)
    }

    /// Handles Ctrl-C: the first one makes workers stop at their next wait, the second kills them.
    fn interrupt(&mut self) {
        self.interrupts += 1;
        self.control.stop(Stop::Interrupted);
        if self.interrupts == 1 {
            // On several machines, the first one speaks.
            if self.workers.first().is_some_and(|worker| worker.rank() > 0) {
                return;
            }
            show_status("stopping at the next phase (once more to stop at once)");
        } else {
            self.kill_all();
        }
    }

    /// Notes a failure; the first one is reported.
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
            // This fails only if the worker has just died by itself; it is reaped below.
            let _ = kill_process(worker.pid(), Signal::KILL);
        }
    }

    fn reap(&mut self) -> Result<()> {
        let mut deaths: Vec<Error> = Vec::new();
        for worker in self.workers.iter_mut().filter(|worker| worker.is_alive()) {
            let status: Option<WaitStatus> = waitpid(Some(worker.pid()), WaitOptions::NOHANG)
                .map_err(|e| Error::io("wait for", Path::new("a worker"), e.into()))?
                .map(|(_, status)| status);
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
}

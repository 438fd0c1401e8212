//! Time and manner of saving a rank's training.

use std::time::Instant;

use super::assignment::Assignment;
use super::files::pending_checkpoint;
use crate::engine::turns::{Control, Request, SaveClock};
use crate::event::Event;
use crate::train::{KeptState, Training};
use crate::words::error::{Error, ErrorKind, Result};

/// Checkpoints of a rank's training.
pub(super) struct Saving<'a> {
    assignment: Assignment<'a>,
    control: &'a Control,
    /// Whether all ranks save parts, and so must agree on the time.
    together: bool,
    /// Clock of rank 0 if it saves alone.
    clock: Option<SaveClock>,
    /// The last saved epoch.
    saved: u32,
}

impl<'a> Saving<'a> {
    /// Checkpoints of a new or resumed training.
    pub(super) fn new(assignment: Assignment<'a>, training: &Training<'_>) -> Self {
        let Assignment { here, config, .. } = assignment;
        let (with_rows, one_machine) =
            (training.has_learned_rows(), here.placement.machines() == 1);
        let is_real = here.stand_in.is_none();
        // Ranks on other machines do not see this machine's requests.
        let together = with_rows && one_machine && is_real;
        here.control.run().set_saves_together(together);
        let by_time = is_real && !with_rows && here.rank == 0 && config.checkpoint_every.is_none();
        let clock = by_time.then(SaveClock::usual);
        Saving { assignment, control: here.control, together, clock, saved: training.epoch() }
    }

    /// Whether the run ends after this epoch, once it is saved. All ranks agree.
    pub(super) fn ends(&self) -> bool {
        self.together && self.control.is_due(Request::End)
    }

    /// Whether this epoch must be saved. All ranks agree, if all have parts.
    pub(super) fn is_due(&self, epoch: u32, is_last: bool) -> bool {
        let every = self.assignment.config.checkpoint_every;
        if every.is_some_and(|every| is_last || epoch.is_multiple_of(every)) {
            return true;
        }
        // The launcher requests it when it is time.
        let is_asked = self.together && self.control.is_due(Request::Save);
        is_asked || self.ends() || self.clock.is_some_and(|clock| clock.is_time())
    }

    /// Saves the state after the last epoch; all ranks call this if they have parts.
    pub(super) fn save(&mut self, training: &mut Training<'_>) -> Result<()> {
        let (epoch, begin) = (training.epoch(), Instant::now());
        let Assignment { here, config, .. } = self.assignment;
        training.write_checkpoint(&pending_checkpoint(&config.out, epoch), config.to_toml()?)?;
        self.saved = epoch;
        if let Some(clock) = &mut self.clock {
            clock.saved(begin);
        }
        if here.rank != 0 {
            return Ok(());
        }
        here.events.send(Event::Checkpoint(epoch))?;
        // All ranks have seen the request; the launcher learns that it is fulfilled before it makes another.
        self.control.take_back(Request::Save);
        Ok(())
    }

    /// Saves a kept state if the run is interrupted and the state has not been saved; returns the error.
    pub(super) fn save_kept(&self, stopped: Error, kept: Option<&KeptState<'_>>) -> Error {
        let Assignment { here, config, .. } = self.assignment;
        let kept = kept.filter(|kept| kept.epoch() > self.saved && here.stand_in.is_none());
        let Some(kept) = kept.filter(|_| stopped.kind() == ErrorKind::Interrupted) else {
            return stopped;
        };
        let path = pending_checkpoint(&config.out, kept.epoch());
        let saved = config.to_toml().and_then(|config| kept.write(&path, config));
        let told = saved.and_then(|()| here.events.send(Event::Checkpoint(kept.epoch())));
        told.err().unwrap_or(stopped)
    }
}

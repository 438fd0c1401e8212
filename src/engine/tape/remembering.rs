//! Passes that compute aggregates of constants only once.

use super::constants::Constants;
use super::letting_go::LettingGo;
use super::record::Tape;
use super::var::Var;
use crate::error::{Error, Result};

impl<'a> Tape<'a> {
    /// Stores aggregates of constants in `constants`, or takes them from there, for passes of the same model over the same
    /// graphs and the same [constants](Tape::constant).
    #[must_use]
    pub fn remembering(self, constants: &'a Constants) -> Self {
        let mut tape = self;
        tape.constants = Some((constants, 0));
        let lock = tape.manager().lock();
        let last_pause = match constants.last_pause.get() {
            _ if lock.is_alone() => 0,
            Some(last_pause) if tape.records() => last_pause,
            // No backward pass follows, or its distance is not known yet.
            _ => usize::MAX,
        };
        tape.letting_go = LettingGo::until(last_pause, lock.turns());
        tape
    }

    /// The result of `compute`, which depends on constants only.
    pub(super) fn once(&mut self, compute: impl FnOnce(&mut Self) -> Result<Var>) -> Result<Var> {
        let Some((constants, place)) = self.constants else { return compute(self) };
        self.constants = Some((constants, place + 1));
        let values = &constants.aggregates;
        let known = values.borrow().get(place).cloned();
        if let Some(value) = known {
            return Ok(self.constant(&value));
        }
        let computed = compute(self)?;
        let mut values = values.borrow_mut();
        if values.len() != place {
            let problem = format!("constant {place} after {} others", values.len());
            return Err(Error::internal(problem));
        }
        values.push(computed.value());
        Ok(self.constant(&computed.value()))
    }
}

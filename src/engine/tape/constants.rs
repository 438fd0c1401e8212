//! Aggregates of constants: equal in every pass, and so computed in the first one only.

use std::cell::{Cell, RefCell};

use super::letting_go::LettingGo;
use super::record::Tape;
use super::var::Var;
use crate::engine::spill::PointerTensor;
use crate::error::{Error, Result};

/// Aggregates of constants from passes of one model over the same graphs and features, in the order of the model.
///
/// The first layer's aggregate of the features is one, unless the features pass dropout or are multiplied by a weight first. A
/// pass that finds it here needs no rows of other ranks for it.
///
/// Such passes also pause at the same operations, and so know which values are not needed before the next pause.
#[derive(Default)]
pub struct Constants {
    aggregates: RefCell<Vec<PointerTensor>>,
    /// Number of operations that the last training pass had begun at its last forward pause, once there was one.
    pub(super) last_pause: Cell<Option<usize>>,
}

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

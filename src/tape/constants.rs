//! Aggregates of constants: the same in every pass, so computed in the first one alone.

use std::cell::RefCell;

use super::record::Tape;
use super::var::Var;
use crate::error::{Error, Result};
use crate::spill::PointerTensor;

/// What passes of one model over the same graphs and features have aggregated of constants, in the order of the model.
///
/// The first layer's aggregate of the features is one, unless they are dropped out or multiplied by a weight first. A pass
/// that finds it here needs no rows of other ranks for it.
#[derive(Default)]
pub struct Constants(RefCell<Vec<PointerTensor>>);

impl<'a> Tape<'a> {
    /// Keeps aggregates of constants in `constants`, or takes them from there. For passes of the same model over the same
    /// graphs and the same [constants](Tape::constant).
    #[must_use]
    pub fn remembering(self, constants: &'a Constants) -> Self {
        let mut tape = self;
        tape.constants = Some((constants, 0));
        tape
    }

    /// What `compute` gives, which depends on constants alone.
    pub(super) fn once(&mut self, compute: impl FnOnce(&mut Self) -> Result<Var>) -> Result<Var> {
        let Some((constants, place)) = self.constants else { return compute(self) };
        self.constants = Some((constants, place + 1));
        let Constants(values) = constants;
        let known = values.borrow().get(place).cloned();
        if let Some(value) = known {
            return Ok(self.constant(&value));
        }
        let value = compute(self)?.value();
        let mut values = values.borrow_mut();
        if values.len() != place {
            let problem = format!("constant {place} after {} others", values.len());
            return Err(Error::Internal(problem));
        }
        values.push(value.clone());
        Ok(self.constant(&value))
    }
}

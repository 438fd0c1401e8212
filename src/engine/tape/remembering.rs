//! Reuse of aggregates of constants in later passes.

use super::constants::Constants;
use super::letting_go::LettingGo;
use super::record::{Begun, Computation, Tape};
use super::var::Var;

impl<'a> Tape<'a> {
    /// Stores aggregates of constants in `constants`, or takes them from there. All passes must use the same model,
    /// graphs and [constants](Tape::constant).
    #[must_use]
    pub fn remembering(self, constants: &'a Constants) -> Self {
        let mut tape = self;
        tape.constants = Some((constants, 0));
        let lock = tape.manager().lock();
        let last_pause = match constants.last_pause.get() {
            _ if lock.is_alone() => 0,
            Some(last_pause) if tape.records() => last_pause,
            // No backward pass follows, or the last pause is not known yet.
            _ => usize::MAX,
        };
        tape.letting_go = LettingGo::until(last_pause, lock.turns());
        tape
    }

    /// Returns the result of `compute`, which must depend on constants only.
    pub(super) fn once(
        &mut self,
        compute: impl FnOnce(&mut Self) -> Begun<'a, Var>,
    ) -> Begun<'a, Var> {
        let Some((constants, place)) = self.constants else { return compute(self) };
        self.constants = Some((constants, place + 1));
        let known = constants.aggregates.borrow().get(&place).cloned();
        if let Some(value) = known {
            return Ok(Computation::Complete(self.constant(&value)));
        }
        compute(self)?.then(self, move |tape, computed| {
            constants.aggregates.borrow_mut().insert(place, computed.value());
            Ok(tape.constant(&computed.value()))
        })
    }
}

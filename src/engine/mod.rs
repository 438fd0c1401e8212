//! Out-of-core execution: turns, spilling, collectives and the tape.

pub mod comm;
pub mod spill;
pub mod tape;
pub(crate) mod tensor;
pub mod turns;

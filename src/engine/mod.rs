//! Out-of-core execution: turns, spilling, collectives and the tape.

pub mod array;
pub mod comm;
pub mod launch;
mod packed;
pub mod spill;
pub mod spill_dir;
#[cfg(feature = "torch")]
pub mod tape;
#[cfg(feature = "torch")]
pub(crate) mod tensor;
pub mod turns;

//! Out-of-core execution: turns, spilling, collectives and the tape.

#[cfg(feature = "torch")]
pub mod comm;
#[cfg(feature = "torch")]
pub mod spill;
#[cfg(feature = "torch")]
pub mod tape;
#[cfg(feature = "torch")]
pub(crate) mod tensor;
pub mod spill_dir;
pub mod turns;

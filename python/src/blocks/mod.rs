//! Large blocks of memory that are used again.
//!
//! The system clears each page that it hands out. A layer's tensors take many megabytes and live for a moment, so clearing took a
//! fifth of a step. Torch's large blocks therefore stay with the process until the next pause, and the messages of other ranks
//! use them, too. Fresh ones consist of huge pages.

mod allocator;
mod cache;
mod patch;
mod scratch;

pub(crate) use allocator::{forget, keep_blocks, release, reusable};
pub(crate) use scratch::Scratch;

//! Large blocks of memory that are reused.
//!
//! The system clears each page before it hands it out. A layer's tensors take many megabytes and live briefly, so
//! clearing took an eighth to a fifth of an epoch. libtorch's large blocks therefore stay with the process until a
//! pause at which the rank may not keep them. New blocks consist of huge pages.

mod allocator;
mod cache;
mod hook;

pub use allocator::{
    HUGE, LARGE, forget, give_back, keep_blocks, large_block, release, reusable, serve, set_room,
};
pub use cache::MemoryBlock;

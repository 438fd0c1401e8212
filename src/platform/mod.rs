//! Facilities of the operating system: fork, threads, the allocator, `/proc`.

pub mod blocks;
mod clock;
mod end;
pub(crate) mod fork;
pub(crate) mod free_memory;
pub(crate) mod free_space;
pub(crate) mod heap;
mod open_files;
mod pool;
mod process_memory;
mod process_stat;
mod processor_time;
pub mod signals;
mod write_back;

pub use clock::nanoseconds;
pub use end::{leave, run_exit_handlers};
pub use fork::{fork, num_threads};
pub use free_memory::{MemoryGroups, free_memory};
pub use free_space::free_space;
pub use heap::{give_memory_back, prepare_allocator, prepare_allocator_to_keep, share_one_heap};
pub use open_files::raise_open_files;
pub use pool::start_pool;
pub(crate) use process_memory::{Pages, Rollup, bytes_of_children, listed_bytes};
pub use process_memory::{
    anonymous_bytes, peak_anonymous_bytes, proportional_bytes, reset_peak, resident_bytes,
};
pub(crate) use process_stat::ProcessStat;
pub use processor_time::ProcessorSeconds;
pub(crate) use processor_time::reached_limit;
pub(crate) use write_back::{begin_write_back, write_back};

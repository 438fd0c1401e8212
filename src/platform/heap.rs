//! The C allocator, which libtorch's tensors come from. Freed memory must return to the system; otherwise a parked
//! worker would keep the pages of the tensors it has spilled.
#![allow(unsafe_code)] // calls of the C library

use std::sync::atomic::{AtomicBool, Ordering};

use super::blocks::{self, LARGE};

/// Makes all threads share one heap from now on: glibc never returns the free end of other threads' heaps.
///
/// The launcher calls this before any process of a run has a second thread, because glibc decides when that thread
/// starts.
pub fn share_one_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: mallopt takes two integers and changes settings of the allocator only.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Keeps the freed memory of blocks smaller than [`LARGE`] for the next tensor, until [`give_memory_back`] is called:
/// returning pages and mapping them again for each tensor costs as much as filling them. Larger tensors consist of huge
/// pages, which cost little to map. On the heap they would leave holes, because glibc does not reuse the place of a
/// freed aligned block for one of the same size.
///
/// Called once, at the start of a worker. `scale`, which multiplies `LARGE`, is 1, or less for a small stand-in of a
/// run, whose blocks are smaller too.
pub fn prepare_allocator(scale: f64) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: mallopt takes two integers and changes settings of the allocator only.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, (LARGE as f64 * scale) as i32);
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
    }
}

/// Like [`prepare_allocator`], for a worker that soon reuses freed memory: blocks of any size come from the heap, which
/// keeps them until [`give_memory_back`] is called.
///
/// Called once, in place of `prepare_allocator`.
pub fn prepare_allocator_to_keep() {
    prepare_allocator(1.0);
    KEEPS.store(true, Ordering::Relaxed);
    map_blocks(false);
}

/// Whether this process has been prepared to keep freed memory.
static KEEPS: AtomicBool = AtomicBool::new(false);

/// Largest number of blocks that glibc maps one by one by default.
const MOST_MAPPED: i32 = 65536;

/// With `mapped`, large blocks are mapped one by one from now on, and libtorch's are reused
/// ([`keep_blocks`](blocks::keep_blocks)); otherwise they come from the heap. Has an effect only after
/// [`prepare_allocator_to_keep`]. Blocks in use stay in place.
pub(crate) fn map_blocks(mapped: bool) {
    if !KEEPS.load(Ordering::Relaxed) {
        return;
    }
    blocks::serve(mapped);
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: mallopt takes two integers and changes settings of the allocator only.
    unsafe {
        libc::mallopt(libc::M_MMAP_MAX, if mapped { MOST_MAPPED } else { 0 });
    }
}

/// Returns waiting blocks, and the heap's free pages, to the system.
pub fn give_memory_back() {
    blocks::release();
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: malloc_trim has no precondition.
    unsafe {
        libc::malloc_trim(0);
    }
}

//! The allocator of large blocks, on top of the C library's.
#![allow(unsafe_code)] // stands in for two functions of the C library

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::cache::{Cache, MemoryBlock};
use super::hook::replace_function;
use crate::words::error::{Error, Result};
use rustix::mm::{Advice, madvise};

/// Size in bytes from which blocks are large. The C library maps them one by one (`prepare_allocator`).
pub const LARGE: usize = 4 << 20;

/// Bytes of a huge page.
pub const HUGE: usize = 2 << 20;

static CACHE: Mutex<Cache> = Mutex::new(Cache::new());

/// Whether libtorch's large blocks come from here.
static SERVES: AtomicBool = AtomicBool::new(true);

/// Makes libtorch reuse freed blocks from now on, in this process. No effect if libtorch's library is not found.
///
/// # Errors
/// If the system does not let the library be changed.
pub fn keep_blocks() -> Result<()> {
    let unchanged = |e: rustix::io::Errno| {
        Error::internal(format!("libtorch's allocator cannot be replaced: {e}"))
    };
    if replace_function("libc10.so", c"posix_memalign", hooked_memalign as *const ())
        .map_err(unchanged)?
    {
        replace_function("libc10.so", c"free", hooked_free as *const ()).map_err(unchanged)?;
    }
    Ok(())
}

/// With `serves`, libtorch's large blocks are reused from now on, after [`keep_blocks`]; otherwise they come from the C
/// library. Waiting blocks are freed.
pub fn serve(serves: bool) {
    SERVES.store(serves, Ordering::Relaxed);
    release();
}

/// Sets the number of bytes that this process may keep, at first unlimited. Blocks wait for reuse only if `bytes` is at
/// least the most that was ever in use at a time.
pub fn set_room(bytes: u64) {
    let excess = cache().set_room(usize::try_from(bytes).unwrap_or(usize::MAX));
    excess.iter().for_each(free);
}

/// Bytes of blocks that wait for reuse.
pub fn reusable() -> u64 {
    cache().waiting_bytes() as u64
}

/// Frees the blocks that wait for reuse.
pub fn release() {
    let waiting = cache().take_waiting();
    waiting.iter().for_each(free);
}

/// Excludes the blocks now in use from reuse, because they may lie in files from now on.
pub fn forget() {
    cache().forget();
}

/// A large block whose bytes have all been written to.
pub fn large_block(len: usize) -> MemoryBlock {
    if let Some(block) = cache().take(len) {
        return block;
    }
    let block = fresh(HUGE, len).unwrap_or_else(|_| out_of_memory(len));
    // SAFETY: the block has just been made and holds `len` bytes.
    unsafe { ptr::write_bytes(ptr::with_exposed_provenance_mut::<u8>(block.address), 0, len) };
    block
}

/// Gives back a block of [`large_block`].
pub fn give_back(block: &MemoryBlock) {
    if !let_wait(block.address) {
        free(block);
    }
}

/// Lets the block at an address wait if it belongs to the cache; returns whether it does.
fn let_wait(address: usize) -> bool {
    let excess = cache().give_back(address);
    excess.iter().flatten().for_each(free);
    if excess.is_some() && !SERVES.load(Ordering::Relaxed) {
        release();
    }
    excess.is_some()
}

fn out_of_memory(len: usize) -> ! {
    match std::alloc::Layout::array::<u8>(len) {
        Ok(layout) => std::alloc::handle_alloc_error(layout),
        Err(_) => unreachable!("a slice of {len} bytes"),
    }
}

/// A new block of huge pages, or the error of `posix_memalign`. Waiting blocks are freed first where the new one would
/// raise the peak.
fn fresh(alignment: usize, len: usize) -> std::result::Result<MemoryBlock, c_int> {
    let excess = cache().make_room(len);
    excess.iter().for_each(free);
    let mut memory = ptr::null_mut();
    // SAFETY: `memory` outlives the call, which checks the rest.
    let made = unsafe { libc::posix_memalign(&raw mut memory, alignment.max(HUGE), len) };
    if made != 0 {
        return Err(made);
    }
    // The remainder of the last huge page would be unused memory.
    // SAFETY: the range lies in the block just made; the advice does not change its contents.
    // A system without huge pages refuses the advice, and provides ordinary pages.
    let _ = unsafe { madvise(memory, len / HUGE * HUGE, Advice::LinuxHugepage) };
    let block = MemoryBlock { address: memory.expose_provenance(), len };
    cache().insert(block);
    Ok(block)
}

fn free(block: &MemoryBlock) {
    // SAFETY: blocks come from `posix_memalign`, and a block taken out of the cache is not in use.
    unsafe { libc::free(ptr::with_exposed_provenance_mut(block.address)) }
}

fn cache() -> MutexGuard<'static, Cache> {
    CACHE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `posix_memalign` for libtorch.
unsafe extern "C" fn hooked_memalign(out: *mut *mut c_void, alignment: usize, len: usize) -> c_int {
    if len < LARGE || alignment > HUGE || !SERVES.load(Ordering::Relaxed) {
        // SAFETY: the caller's guarantees about its arguments hold for the function that it meant to call.
        return unsafe { libc::posix_memalign(out, alignment, len) };
    }
    let waiting = cache().take(len);
    let block = match waiting.map_or_else(|| fresh(alignment, len), Ok) {
        Ok(block) => block,
        Err(error) => return error,
    };
    // SAFETY: the caller passes a place for a pointer.
    unsafe { *out = ptr::with_exposed_provenance_mut(block.address) };
    0
}

/// `free` for libtorch.
unsafe extern "C" fn hooked_free(memory: *mut c_void) {
    if memory.is_null() || let_wait(memory.expose_provenance()) {
        return;
    }
    // SAFETY: the memory comes from the C library and is not in the cache.
    unsafe { libc::free(memory) }
}

//! The allocator of large blocks, on top of the C library's.
#![allow(unsafe_code)] // stands in for two functions of the C library

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::cache::{Cache, MemoryBlock};
use super::hook::replace_function;
use crate::error::{Error, Result};
use rustix::mm::{Advice, madvise};

/// Blocks are large from this size on, in bytes. The C library maps them one by one (`prepare_allocator`).
pub const LARGE: usize = 4 << 20;

/// Bytes of a huge page.
pub const HUGE: usize = 2 << 20;

static CACHE: Mutex<Cache> = Mutex::new(Cache::new());

/// Whether libtorch's large blocks come from here.
static SERVES: AtomicBool = AtomicBool::new(true);

/// Makes libtorch use freed blocks again from now on, in this process. Where its library is not found, nothing changes.
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

/// Whether libtorch's large blocks are used again from now on, after [`keep_blocks`]; otherwise they come from the C library. Blocks
/// that wait are freed.
pub fn serve(serves: bool) {
    SERVES.store(serves, Ordering::Relaxed);
    release();
}

/// Sets the number of bytes that this process may keep, at first without a limit. Blocks wait for their next use only if that is as much as
/// was ever in use at a time.
pub fn set_room(bytes: u64) {
    let excess = cache().set_room(usize::try_from(bytes).unwrap_or(usize::MAX));
    excess.iter().for_each(free);
}

/// Bytes of blocks that wait for their next use.
pub fn reusable() -> u64 {
    cache().waiting_bytes() as u64
}

/// Frees the blocks that wait for their next use.
pub fn release() {
    let waiting = cache().take_waiting();
    waiting.iter().for_each(free);
}

/// Says that blocks in use may lie in files from now on: they are not used again.
pub fn forget() {
    cache().forget();
}

/// A large block; all its bytes have been written to before.
pub fn large_block(len: usize) -> MemoryBlock {
    if let Some(block) = cache().take(len) {
        return block;
    }
    let block = fresh(HUGE, len).unwrap_or_else(|_| out_of_memory(len));
    // SAFETY: the block has just been made and holds `len` bytes.
    unsafe { ptr::write_bytes(ptr::with_exposed_provenance_mut::<u8>(block.address), 0, len) };
    block
}

/// Gives a block of [`large_block`] back.
pub fn give_back(block: &MemoryBlock) {
    if !let_wait(block.address) {
        free(block);
    }
}

/// Lets the block at an address wait if it is one of the cache's; says whether it is.
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

/// A new block of huge pages, or the error of `posix_memalign`. As many waiting ones are freed as it takes in memory.
fn fresh(alignment: usize, len: usize) -> std::result::Result<MemoryBlock, c_int> {
    let excess = cache().make_room(len);
    excess.iter().for_each(free);
    let mut memory = ptr::null_mut();
    // SAFETY: `memory` outlives the call, which checks the rest.
    let made = unsafe { libc::posix_memalign(&raw mut memory, alignment.max(HUGE), len) };
    if made != 0 {
        return Err(made);
    }
    // The rest of the last huge page would be unused memory.
    // SAFETY: the range lies in the block that has just been made; the advice does not change what it holds.
    // A system without huge pages refuses the advice, and has others.
    let _ = unsafe { madvise(memory, len / HUGE * HUGE, Advice::LinuxHugepage) };
    let block = MemoryBlock { address: memory.expose_provenance(), len };
    cache().insert(block);
    Ok(block)
}

fn free(block: &MemoryBlock) {
    // SAFETY: blocks come from `posix_memalign`, and one that has been taken out of the cache is not used.
    unsafe { libc::free(ptr::with_exposed_provenance_mut(block.address)) }
}

fn cache() -> MutexGuard<'static, Cache> {
    CACHE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `posix_memalign` for libtorch.
unsafe extern "C" fn hooked_memalign(out: *mut *mut c_void, alignment: usize, len: usize) -> c_int {
    if len < LARGE || alignment > HUGE || !SERVES.load(Ordering::Relaxed) {
        // SAFETY: what the caller says of its arguments holds for the function that it meant.
        return unsafe { libc::posix_memalign(out, alignment, len) };
    }
    let waiting = cache().take(len);
    let block = match waiting.map_or_else(|| fresh(alignment, len), Ok) {
        Ok(block) => block,
        Err(error) => return error,
    };
    // SAFETY: the caller hands over a place for a pointer.
    unsafe { *out = ptr::with_exposed_provenance_mut(block.address) };
    0
}

/// `free` for libtorch.
unsafe extern "C" fn hooked_free(memory: *mut c_void) {
    if memory.is_null() || let_wait(memory.expose_provenance()) {
        return;
    }
    // SAFETY: the caller got the memory from the C library, and the cache does not have it.
    unsafe { libc::free(memory) }
}

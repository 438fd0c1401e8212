//! A guarded read: the memory that it allocates, whether it panics, and the kind of its error.

use sar::words::error::exit::BAD_INPUT;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

/// Size of buffers of a fixed size, in bytes: 1 MiB of the edge writer, 256 KiB for each text file and column, archive readers.
pub(crate) const BUFFERS: usize = 4 << 20;

/// Live bytes allowed per byte of input. A pickle's instruction of one byte becomes a value of 72 bytes, in a vector that may
/// be half empty and has an old copy while it grows.
const PER_BYTE: usize = 128;

/// Size above which a block is refused, as a machine without memory refuses it.
const REFUSED: usize = 1 << 30;

struct Meter;

thread_local! {
    // No destructors: the allocator uses them while a thread ends.
    static WATCHED: Cell<bool> = const { Cell::new(false) };
    static LIVE: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
    static INPUT: Cell<u64> = const { Cell::new(0) };
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

#[global_allocator]
static METER: Meter = Meter;

/// Notes `size` more bytes of this thread; false if they are refused.
fn grow(size: usize) -> bool {
    if !WATCHED.try_with(Cell::get).unwrap_or(false) {
        return true;
    }
    let live = LIVE.get().saturating_add(size);
    PEAK.set(PEAK.get().max(live));
    if size > REFUSED {
        // The process is about to abort; printing allocates little.
        eprintln!("input {} asks for {size} bytes at once", INPUT.get());
        return false;
    }
    LIVE.set(live);
    true
}

fn shrink(size: usize) {
    let _ = LIVE.try_with(|live| live.set(live.get().saturating_sub(size)));
}

// SAFETY: every call is passed on to the system's allocator, or refused with null; counting does not touch the memory.
unsafe impl GlobalAlloc for Meter {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !grow(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise about `layout` is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !grow(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        shrink(layout.size());
        // SAFETY: `ptr` came from one of the other functions with this layout.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !grow(size) {
            return std::ptr::null_mut();
        }
        shrink(layout.size());
        // SAFETY: `ptr` came from one of the other functions with this layout; `size` is the caller's promise.
        unsafe { System.realloc(ptr, layout, size) }
    }
}

/// The bytes that may be live while a file of `len` bytes is read.
pub(crate) fn limit(buffers: usize, len: usize) -> usize {
    buffers + PER_BYTE * len
}

/// Runs `read`, which may have `limit` bytes at a time. Returns an error for what no input may cause: a panic, memory out of
/// proportion, an error that does not blame the input.
pub(crate) fn watch(
    input: u64,
    limit: usize,
    read: impl FnOnce() -> sar::Result<()>,
) -> Result<bool, String> {
    hear_panics();
    LIVE.set(0);
    PEAK.set(0);
    INPUT.set(input);
    WATCHED.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(read));
    WATCHED.set(false);
    // Panics of the Parquet library are caught where it is called; those of this program's code must not be.
    let panic = PANIC.take();
    if outcome.is_err() || panic.contains("(src/") {
        return Err(format!("panics: {panic}"));
    }
    let peak = PEAK.get();
    if peak > limit {
        return Err(format!("takes {peak} bytes of memory (limit {limit})"));
    }
    match outcome {
        Err(_) => Err("panics".to_owned()),
        Ok(Ok(())) => Ok(true),
        Ok(Err(error)) if error.exit_code() == BAD_INPUT => Ok(false),
        Ok(Err(other)) => Err(format!("does not blame the input: {other:?}")),
    }
}

/// Panics of a watched reading are kept instead of printed.
fn hear_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !WATCHED.get() {
                return usual(info);
            }
            let place = info.location().map(ToString::to_string).unwrap_or_default();
            let payload = info.payload();
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or(payload.downcast_ref::<&str>().copied()).unwrap_or_default();
            PANIC.set(format!("{text} ({place})"));
        }));
    });
}

//! [`Word`] on Linux: an atomic that the kernel can put sleepers on, across processes.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::thread::futex;

use super::word::Word;

/// Time after which a sleeper checks again without being woken, because the process that should wake it may have been
/// killed.
const PATIENCE: Duration = Duration::from_millis(250);

/// A word on its own cache line.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(super) struct FutexWord(AtomicU32);

impl Word for FutexWord {
    fn load(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }

    fn compare_exchange(&self, expected: u32, new: u32) -> bool {
        self.0.compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    fn wait(&self, expected: u32, mask: u32) {
        let Some(mask) = NonZeroU32::new(mask) else { return };
        // FUTEX_WAIT_BITSET takes an absolute time on the monotonic clock.
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let until = rustix::time::Timespec {
            tv_sec: now.tv_sec + (now.tv_nsec + i64::from(PATIENCE.subsec_nanos())) / 1_000_000_000,
            tv_nsec: (now.tv_nsec + i64::from(PATIENCE.subsec_nanos())) % 1_000_000_000,
        };
        // Woken, value changed, timed out or interrupted: the caller reads the word again in each case.
        let _ = futex::wait_bitset(&self.0, futex::Flags::empty(), expected, Some(&until), mask);
    }

    fn wake(&self, mask: u32) {
        let Some(mask) = NonZeroU32::new(mask) else { return };
        // This fails only for an invalid address; a reference is valid.
        let _ = futex::wake_bitset(&self.0, futex::Flags::empty(), i32::MAX as u32, mask);
    }
}

//! Dispatch to the widest vector instructions of the processor.
#![allow(unsafe_code)] // prefetching

/// A piece of work with its arguments.
///
/// `run`, and everything that its loops call, must be `#[inline(always)]`. Bodies of closures, and functions passed as
/// values, would stay compiled for the baseline.
pub(super) trait Kernel {
    /// Does the work.
    fn run(self);
}

/// Runs a kernel compiled for the instructions that the processor has (AVX-512, AVX2, NEON, or the baseline).
#[inline(always)]
pub(super) fn vectorised(kernel: impl Kernel) {
    pulp::Arch::new().dispatch(Work(kernel));
}

struct Work<K>(K);

impl<K: Kernel> pulp::NullaryFnOnce for Work<K> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.0.run();
    }
}

/// Prefetches a row that is about to be read.
#[inline(always)]
pub(super) fn prefetch<T>(row: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for line in row.chunks(64 / size_of::<T>()) {
        // SAFETY: the pointer is inside a borrowed slice; a prefetch has no visible effect.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch(line.as_ptr().cast(), _MM_HINT_T0);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}

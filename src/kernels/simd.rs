//! The widest vector instructions that this processor has.
#![allow(unsafe_code)] // prefetching

/// Runs `work` compiled for the instructions that the processor has (AVX-512, AVX2, NEON, or the baseline).
///
/// What is to be vectorised has to be inlined into `work`.
#[inline(always)]
pub(super) fn vectorised<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(Work(work))
}

struct Work<F>(F);

impl<R, F: FnOnce() -> R> pulp::NullaryFnOnce for Work<F> {
    type Output = R;

    #[inline(always)]
    fn call(self) -> R {
        (self.0)()
    }
}

/// Asks for a row that is about to be read.
#[inline(always)]
pub(super) fn prefetch<T>(row: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for line in row.chunks(64 / size_of::<T>()) {
        // SAFETY: the pointer is inside a slice that is borrowed; a prefetch changes nothing that can be seen.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch(line.as_ptr().cast(), _MM_HINT_T0);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}

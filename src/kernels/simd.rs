//! The widest vector instructions that this processor has.
#![allow(unsafe_code)] // prefetching

/// Runs `kernel` compiled for the instructions that the processor has (AVX-512, AVX2, NEON, or the baseline).
///
/// For that `kernel` has to be a function marked `#[inline(always)]`, and so has everything it calls in its loops; the
/// body of a closure would stay compiled for the baseline.
#[inline(always)]
pub(super) fn vectorised<A, R>(arguments: A, kernel: impl FnOnce(A) -> R) -> R {
    pulp::Arch::new().dispatch(Work { arguments, kernel })
}

struct Work<A, F> {
    arguments: A,
    kernel: F,
}

impl<A, R, F: FnOnce(A) -> R> pulp::NullaryFnOnce for Work<A, F> {
    type Output = R;

    #[inline(always)]
    fn call(self) -> R {
        (self.kernel)(self.arguments)
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

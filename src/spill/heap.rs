//! The C allocator, which libtorch's tensors come from: freed memory has to go back to the system, or a parked worker
//! would keep the pages of the tensors it has spilled.
#![allow(unsafe_code)] // two calls of the C library

/// Makes every allocation of 64 KiB and more a mapping of its own, which is returned as soon as it is freed.
///
/// Left alone, glibc raises this threshold with every large block that is freed and keeps later ones in its heap.
/// Called once, at the start of a worker.
pub fn prepare_allocator() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: mallopt takes two integers and changes settings of the allocator only.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 64 << 10);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 128 << 10);
    }
}

/// Returns the free pages of the heap to the system.
pub fn give_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: malloc_trim has no precondition.
    unsafe {
        libc::malloc_trim(0);
    }
}

//! The end of the program.
#![allow(unsafe_code)] // two calls of the C library: fflush, _exit

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether libraries have exit handlers to run.
static HANDLERS: AtomicBool = AtomicBool::new(false);

/// Makes [`leave`] run the exit handlers of libraries.
pub fn run_exit_handlers() {
    HANDLERS.store(true, Ordering::SeqCst);
}

/// Ends the process with an exit code, without destructors of libraries: libtorch would free everything that it has
/// registered, piece by piece, in a third of a short command's processor time. Results are flushed where they are
/// printed.
pub fn leave(code: u8) -> ! {
    if HANDLERS.load(Ordering::SeqCst) {
        std::process::exit(i32::from(code));
    }
    // SAFETY: a null pointer means all streams of the C library; _exit ends this process at once.
    unsafe {
        libc::fflush(std::ptr::null_mut());
        libc::_exit(i32::from(code))
    }
}

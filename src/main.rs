//! The `sar-single` program.
#![allow(unsafe_code)] // the section that a function pointer is in

/// Holds signals back while libtorch's constructors run, a third of a second before `main`, until they can be handled.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[used]
// SAFETY: the loader calls the pointers of this section, without arguments, before any constructor; this function may run
// there.
#[unsafe(link_section = ".preinit_array")]
static HOLD_BACK: extern "C" fn() = sar::platform::signals::hold_back;

fn main() {
    sar::platform::leave(sar::cli::run())
}

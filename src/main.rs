//! The `sar-single` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(sar::cli::run())
}

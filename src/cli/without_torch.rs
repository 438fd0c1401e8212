//! What the program says that was built without libtorch when it is asked to train.

use std::ffi::OsString;

/// The first lines of the help.
pub(super) const ABOUT: &str = "Prepare graphs for sar-single: generate, partition, inspect.

This program was built without libtorch. One with libtorch trains, too: `make build` in the sources makes it.";

/// Commands of the other program. Flags without a command are those of training.
const COMMANDS: [&str; 3] = ["plan", "predict", "correct-and-smooth"];

/// Flags that both programs have.
const FLAGS: [&str; 4] = ["-h", "--help", "-V", "--version"];

/// Why this program cannot do what is asked for, if the one with libtorch can. The first argument is the program's name.
pub(super) fn needed_by(arguments: &[OsString]) -> Option<String> {
    let first = arguments.get(1)?.to_str()?;
    let what = if COMMANDS.contains(&first) {
        format!("`{first}`")
    } else if first.starts_with('-') && !FLAGS.contains(&first) {
        format!("training (`{first}`)")
    } else {
        return None;
    };
    Some(format!(
        "{what} needs libtorch, which this program was built without\n\n  tip: build it with the cargo feature `torch`, \
         which is on by default: run `make build` in the sources of sar-single"
    ))
}

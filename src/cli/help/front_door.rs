//! Answer to `sar-single` alone.

use clap::error::ErrorKind;

use crate::event::show_always;

#[cfg(feature = "torch")]
const TEXT: &str = "\
sar-single trains graph neural networks on graphs that do not fit in memory.

Make a graph to try it on, in 4 partitions:
  sar-single generate --nodes 4000 --edges 60000 --num-parts 4 --out graph
Train on it, within 2 GiB:
  sar-single --part-json graph/g.json --epochs 20 --memory-budget 2GiB --out run
Predict the class of every node:
  sar-single predict --run run --out classes.csv

Your own files:  sar-single train --help, sar-single partition --help
Flags of a run:  sar-single --help, all of them: sar-single --help-all
The book:        docs/src/introduction.md in the sources, or `make book`
";

#[cfg(not(feature = "torch"))]
const TEXT: &str = "\
sar-single prepares graphs that do not fit in memory for training.

Make a graph to try it on:
  sar-single generate --nodes 4000 --edges 60000 --num-parts 4 --out graph
Show its content:
  sar-single inspect graph/g.json
Cut it into 8 partitions:
  sar-single partition --part-json graph/g.json --num-parts 8 --out parts

Your own files:  sar-single partition --help
Training:        needs a program with libtorch: `make build` in the sources
The book:        docs/src/introduction.md in the sources, or `make book`
";

/// Whether the parser complains about an empty command line.
pub(in crate::cli) fn is_asked_for(message: &clap::Error) -> bool {
    message.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
}

/// Shows the program's purpose, examples, and the book's address.
pub(in crate::cli) fn show() {
    show_always(TEXT);
}

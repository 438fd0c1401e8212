//! First page of help, one screen: `--help`. `--help-all` shows every flag.

use clap::builder::PossibleValue;
use clap::{Arg, Args, Command};

/// Columns of the page.
const WIDTH: usize = 80;

/// Flags that show help, of every command.
#[derive(Debug, Args)]
pub(in crate::cli) struct HelpArgs {
    /// Print the everyday flags
    #[arg(short = 'h', long, global = true, action = clap::ArgAction::HelpShort, help_heading = "Output")]
    help: Option<bool>,
    /// Print all flags
    #[arg(long, global = true, action = clap::ArgAction::HelpLong, help_heading = "Output")]
    help_all: Option<bool>,
    /// Print the version
    #[arg(short = 'V', long, action = clap::ArgAction::Version, help_heading = "Output")]
    version: Option<bool>,
}

/// A flag on the page, with the default from its definition. In its text, `{}` stands for the possible values.
struct Shown {
    name: &'static str,
    /// Placeholder of the value; if empty, the definition's.
    value: &'static str,
    text: &'static str,
}

const fn shown(name: &'static str, value: &'static str, text: &'static str) -> Shown {
    Shown { name, value, text }
}

/// First page of a command's help.
struct Page {
    usage: &'static str,
    groups: &'static [(&'static str, &'static [Shown])],
    examples: &'static str,
}

#[cfg(feature = "torch")]
const GRAPH_AND_MODEL: &[Shown] = &[
    shown("part-json", "FILE", "The graph: JSON file from `partition`"),
    shown("task", "TASK", "{}"),
    shown("model", "NAME", "{}"),
    shown("layers", "N", "Number of layers"),
    shown("hidden", "N", "Width of hidden layers"),
    shown("dropout", "P", "Dropout between layers"),
];

#[cfg(feature = "torch")]
const OF_TRAINING: &[Shown] = &[
    shown("epochs", "N", "Number of epochs"),
    shown("lr", "RATE", "Learning rate"),
    shown("weight-decay", "W", "Weight decay"),
    shown("patience", "N", "Stop after N epochs without progress"),
    shown("eval-every", "N", "Validate every N epochs"),
    shown("seed", "N", "Seed of all random choices"),
    shown("mode", "MODE", "Graph in a step: {}"),
    shown("fanouts", "N,N,...", "sample: neighbours per layer"),
    shown("batch-size", "N", "sample: nodes per worker and step"),
];

#[cfg(feature = "torch")]
const TRAINING: Page = Page {
    usage: "sar-single --part-json FILE [FLAGS]\n       sar-single COMMAND [FLAGS]",
    groups: &[
        ("Graph and model", GRAPH_AND_MODEL),
        ("Training", OF_TRAINING),
        (
            "Memory and results",
            &[
                shown("memory-budget", "SIZE", "Of all processes"),
                shown("spill-dir", "DIR", "For spilled data"),
                shown("out", "DIR", "Folder of results"),
                shown("checkpoint-every", "N", "Save every N epochs"),
                shown("resume", "RUN", "Continue an interrupted run"),
            ],
        ),
    ],
    examples: "  sar-single --part-json graph/g.json --epochs 50 --memory-budget 3GiB\n  \
               sar-single --part-json graph/g.json --model gat --patience 10",
};

#[cfg(feature = "torch")]
const FILES: Page = Page {
    usage: "sar-single train EDGES... [FLAGS]",
    groups: &[
        (
            "Files",
            &[
                shown("node-table", "FILE", "Table of nodes, with a column of ids"),
                shown("id", "COLUMN", "Its column of ids"),
                shown("label", "COLUMN", "Its column of labels"),
                shown("split", "SPLIT", "COLUMN, random:0.8,0.1,0.1, train=FILE"),
                shown("node-data", "NAME=FILE", "Features, labels, masks: a row per node"),
                shown("edge-data", "NAME=FILE", "Data of edges: a row per edge"),
                shown("undirected", "", "Store every edge in both directions"),
                shown("num-parts", "N", "Partitions"),
            ],
        ),
        (
            "Training",
            &[
                shown("task", "TASK", "{}"),
                shown("model", "NAME", "{}"),
                shown("layers", "N", "Number of layers"),
                shown("hidden", "N", "Width of hidden layers"),
                shown("dropout", "P", "Dropout between layers"),
                shown("epochs", "N", "Number of epochs"),
                shown("lr", "RATE", "Learning rate"),
                shown("patience", "N", "Stop after N epochs without progress"),
                shown("seed", "N", "Seed of all random choices"),
                shown("mode", "MODE", "Graph in a step: {}"),
            ],
        ),
        (
            "Memory and results",
            &[
                shown("memory-budget", "SIZE", "Of all processes"),
                shown("spill-dir", "DIR", "For spilled data"),
                shown("out", "DIR", "Folder of results"),
            ],
        ),
    ],
    examples: "  sar-single train edges.csv --node-table nodes.csv --label class\n  \
               sar-single train edges.csv --task link --split val=5%,test=10%",
};

const PARTITION: Page = Page {
    usage: "sar-single partition FILE... [FLAGS]",
    groups: &[
        (
            "Files",
            &[
                shown("edges", "[SRC:REL:DST=]FILE", "Edges: text, Parquet, .npy, .npz, .graph"),
                shown("node-table", "[TYPE=]FILE", "Table of nodes, with a column of ids"),
                shown("id", "COLUMN", "Its column of ids"),
                shown("label", "COLUMN", "Its column of labels"),
                shown("node-data", "NAME=FILE", "Features, labels, masks: a row per node"),
                shown("edge-data", "NAME=FILE", "Data of edges: a row per edge"),
                shown("edge-columns", "NAMES", "Columns of edge files to keep as data"),
                shown("split", "SPLIT", "COLUMN, random:0.8,0.1,0.1, train=FILE"),
                shown("node-ids", "KIND", "{}"),
                shown("part-json", "FILE", "Cut a partitioned graph again"),
                shown("ogb", "DIR", "A data set of the Open Graph Benchmark"),
                shown("chunked", "FILE", "metadata.json of DGL's chunked format"),
            ],
        ),
        (
            "Edges",
            &[
                shown("undirected", "", "Store every edge in both directions"),
                shown("reverse-edges", "", "Give each edge type a reverse, rev_NAME"),
                shown("self-loops", "HOW", "Edges from a node to itself: {}"),
                shown("dedup", "", "Keep one of several edges with the same ends"),
            ],
        ),
        (
            "Partitions",
            &[
                shown("num-parts", "N|auto", "As many as --memory-budget needs"),
                shown("memory-budget", "SIZE", "auto: of training"),
                shown("method", "METHOD", "{}"),
                shown("out", "DIR", "Folder"),
                shown("memory", "SIZE", "Memory to use"),
            ],
        ),
    ],
    examples: "  sar-single partition edges.csv --memory-budget 3GiB\n  \
               sar-single partition --edges edges.csv --node-table nodes.csv \\\n    \
               --label class --split random:0.8,0.1,0.1 --num-parts 8 --out graph",
};

#[cfg(feature = "torch")]
const PLAN: Page = Page {
    usage: "sar-single plan --part-json FILE [FLAGS]",
    groups: &[
        ("Graph and model", GRAPH_AND_MODEL),
        ("Training", OF_TRAINING),
        (
            "Memory and plan",
            &[
                shown("memory-budget", "SIZE", "Of all processes"),
                shown("spill-dir", "DIR", "For spilled data"),
                shown("resume", "RUN", "Plan the rest of an interrupted run"),
                shown("disk-endurance", "SIZE", "Show the wear of a drive of this endurance"),
                shown("json", "", "Print the plan as a JSON object"),
            ],
        ),
    ],
    examples: "  sar-single plan --part-json graph/g.json --memory-budget 3GiB\n  \
               sar-single plan --resume runs/g-1 --epochs 200",
};

/// The definition of the command line with the usages of first pages, which do not list all flags.
pub(in crate::cli) fn with_usages(definition: Command) -> Command {
    #[cfg(feature = "torch")]
    let definition = definition
        .override_usage(TRAINING.usage)
        .mut_subcommand("plan", |command| command.override_usage(PLAN.usage))
        .mut_subcommand("train", |command| command.override_usage(FILES.usage));
    definition.mut_subcommand("partition", |command| command.override_usage(PARTITION.usage))
}

/// The definition of the command line, with first pages as the help of commands with many flags.
pub(in crate::cli) fn of(definition: Command) -> Command {
    // The flag is obvious on its own page.
    let definition = definition.mut_arg("help", |help| help.hide(true));
    #[cfg(feature = "torch")]
    let definition = of_training(definition);
    definition.mut_subcommand("partition", |command| with(command, &PARTITION))
}

/// The same for training and its plan, if the program has these commands.
#[cfg(feature = "torch")]
fn of_training(definition: Command) -> Command {
    let names: Vec<&str> = definition.get_subcommands().map(Command::get_name).collect();
    let commands = format!("Commands: {}", names.join(", "));
    let definition = definition
        .mut_subcommand("plan", |command| with(command, &PLAN))
        .mut_subcommand("train", |command| with(command, &FILES))
        .mut_subcommands(|command| command.hide(true));
    let examples = TRAINING.examples;
    with(definition, &TRAINING).after_help(format!("{commands}\n\nExamples:\n{examples}"))
}

fn with(command: Command, page: &Page) -> Command {
    command
        .mut_args(|arg| {
            if arg.is_global_set() {
                return arg;
            }
            let groups = page.groups.iter();
            let flags =
                groups.flat_map(|(heading, flags)| flags.iter().map(|flag| (*heading, flag)));
            let found = flags.enumerate().find(|(_, (_, flag))| arg.get_long() == Some(flag.name));
            let Some((place, (heading, flag))) = found else { return arg.hide(true) };
            let text = flag.text.replace("{}", &values(&arg)) + &default(&arg);
            let arg = if flag.value.is_empty() { arg } else { arg.value_name(flag.value) };
            arg.help(text).help_heading(heading).display_order(place).hide_possible_values(true)
        })
        .max_term_width(WIDTH)
        .override_usage(page.usage)
        .after_help(format!("Examples:\n{}", page.examples))
}

/// The default that the flag's text names, after a space; empty if it names none.
fn default(arg: &Arg) -> String {
    const BEGIN: &str = " [default: ";
    let text = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let named = text.split_once(BEGIN).and_then(|(_, rest)| rest.split([';', ']']).next());
    named.map_or_else(String::new, |usual| format!("{BEGIN}{usual}]"))
}

/// The possible values of a flag.
fn values(arg: &Arg) -> String {
    let values = arg.get_possible_values();
    let names: Vec<&str> = values.iter().map(PossibleValue::get_name).collect();
    names.join(", ")
}

//! `train`: from files to a trained model, by way of `partition` and training.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process;

use clap::builder::{OsStringValueParser, Resettable};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use super::run_flags::RunArgs;
use super::train::TrainArgs;
use crate::cli::flags::free_folder::name_of;
use crate::cli::flags::given::{is_given, values, word, words};
use crate::cli::graphs::partition::{PartitionArgs, is_partitioned};
use crate::cli::show::shell_word::shell_word;
use crate::event::{flush, show_status};
use crate::prepare::import::{Ask, FileRows, GraphFiles, Wants};
use crate::run::is_one_of_several;
use crate::words::error::{Error, ErrorKind, Result};

/// Headings of this command's flags from `partition`, in addition to the number of partitions.
const OF_FILES: [&str; 3] = ["Input", "Node tables", "Edges"];
/// Flags of `partition` and training that name the graph in other ways, or concern earlier runs and other machines.
const LEFT_OUT: [&str; 9] =
    ["edges", "part-json", "ogb", "chunked", "npz", "world-size", "config", "resume", "partitions"];
/// Flags for the amount of output.
const VOICE: [&str; 3] = ["quiet", "verbose", "json"];
/// The masks of nodes if nothing else makes any.
const USUAL_SPLIT: &str = "--split=random:0.8,0.1,0.1";

const EDGES: &str = "files_of_edges";
const NUM_PARTS: &str = "num-parts";
const SPLIT: &str = "split";

const ABOUT: &str = "Train on a graph from your own files";
const LONG_ABOUT: &str = "Train on a graph from your own files

Cuts the graph into partitions, as `partition` does, trains on them and evaluates, as the program does without a command, and says how \
to go on. Takes flags of both. The graph goes to graphs/NAME-N and the run to runs/NAME-N, where NAME is that of the first file, and N \
the first number that is free.

Nodes without masks of their own are split by --split random:0.8,0.1,0.1.";

/// The command lines that `train` stands for.
#[derive(Debug)]
pub(in crate::cli) struct TrainFilesArgs {
    /// The command line of `partition`.
    pub(in crate::cli) partition: Vec<OsString>,
    /// The flags of the training run, except for the one that names the graph.
    training: Vec<OsString>,
    edges: Vec<OsString>,
}

impl TrainFilesArgs {
    /// Checks that the graph still has to be cut.
    pub(in crate::cli) fn check(&self) -> Result<()> {
        if is_one_of_several() {
            let problem = "train partitions the graph, so it runs in one process";
            return Err(Error::new(ErrorKind::Config, problem)
                .with_hint("cut it with `sar-single partition`, then train with --part-json"));
        }
        for file in self.edges.iter().map(Path::new) {
            if is_partitioned(file) {
                let problem = "describes partitions, and train takes files of edges";
                let hint =
                    format!("leave out `train`: sar-single --part-json {}", shell_word(file));
                return Err(Error::input(file, "", problem).with_hint(hint));
            }
        }
        Ok(())
    }

    /// The command line of the training run on a graph.
    pub(in crate::cli) fn training(&self, json: &Path) -> Vec<OsString> {
        let mut line = vec!["sar-single".into(), word("part-json", json.as_os_str())];
        line.extend_from_slice(&self.training);
        line
    }

    /// Replaces this program by the training run, once the graph has been cut. Returns only if that fails.
    pub(in crate::cli) fn start_training(&self, json: &Path) -> Error {
        let graph = shell_word(json);
        show_status(&format!("to train on this graph again: sar-single --part-json {graph}\n"));
        flush();
        match std::env::current_exe() {
            // The memory that partitioning has taken must not count for the run.
            Ok(program) => {
                let error = process::Command::new(&program).args(&self.training(json)[1..]).exec();
                Error::io("start", &program, error)
            }
            Err(error) => Error::io("find", Path::new("this program"), error),
        }
    }
}

/// The flags of `partition` that the command has.
fn of_partition() -> Vec<Arg> {
    let all = PartitionArgs::augment_args(Command::new(""));
    let is_taken = |arg: &&Arg| {
        arg.get_long().is_some_and(|name| {
            !LEFT_OUT.contains(&name)
                && (name == NUM_PARTS
                    || arg.get_help_heading().is_some_and(|h| OF_FILES.contains(&h)))
        })
    };
    all.get_arguments().filter(is_taken).cloned().collect()
}

/// The flags of training that the command has.
fn of_training() -> Vec<Arg> {
    let all = RunArgs::augment_args(TrainArgs::augment_args(Command::new("")));
    let is_taken = |arg: &&Arg| arg.get_long().is_some_and(|name| !LEFT_OUT.contains(&name));
    all.get_arguments().filter(is_taken).cloned().collect()
}

/// The id of a flag, different from the ids in rules about other commands.
fn id(name: &str) -> String {
    format!("files-{name}")
}

/// A flag of another command, without that command's rules about several flags.
fn passed(arg: &Arg) -> Arg {
    let own = arg.clone().id(id(arg.get_long().unwrap_or_default())).required(false);
    own.conflicts_with(Resettable::Reset).requires(Resettable::Reset)
}

impl Args for TrainFilesArgs {
    fn augment_args(command: Command) -> Command {
        let edges = Arg::new(EDGES)
            .value_name("[SRC:REL:DST=]FILE")
            .required(true)
            .num_args(1..)
            .value_parser(OsStringValueParser::new())
            .help("Files of edges; files of one type continue each other");
        let mut args: Vec<Arg> = of_partition().iter().map(passed).collect();
        for arg in &mut args {
            if arg.get_long() == Some(NUM_PARTS) {
                let help = "Number of partitions [default: auto; the smallest tried number with which training fits into --memory-budget; 1 with --mode sample and --task link]";
                *arg = arg.clone().default_value(Resettable::Reset).help(help).long_help(help);
            }
            if arg.get_long() == Some(SPLIT) {
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                let links = "With --task link, shares of edges: val=5%,test=10%";
                *arg = arg.clone().help(format!("{help}. {links}"));
            }
        }
        for arg in of_training() {
            if args.iter().all(|other| other.get_long() != arg.get_long()) {
                args.push(passed(&arg));
            }
        }
        let command = command.about(ABOUT).long_about(LONG_ABOUT).allow_negative_numbers(true);
        command.arg(edges).args(args)
    }

    fn augment_args_for_update(command: Command) -> Command {
        TrainFilesArgs::augment_args(command)
    }
}

impl FromArgMatches for TrainFilesArgs {
    fn from_arg_matches(matches: &ArgMatches) -> clap::error::Result<Self> {
        let files: Vec<&OsStr> = matches.get_raw(EDGES).into_iter().flatten().collect();
        let name = name_of(files.first().copied().unwrap_or_default());
        let mut partition: Vec<OsString> = vec!["sar-single".into(), "partition".into()];
        partition.extend(files.iter().map(|file| word("edges", file)));
        partition.push(word("name", name.as_ref()));
        let mut training: Vec<OsString> = Vec::new();
        for name in VOICE.iter().filter(|name| is_given(matches, name)) {
            partition.push(format!("--{name}").into());
            training.push(format!("--{name}").into());
        }
        // Masks of edges belong to training, masks of nodes to the graph.
        let of_links = value(matches, "task").is_some_and(|task| task == "link");
        for arg in of_partition() {
            let name = arg.get_long().unwrap_or_default();
            let line = if of_links && name == SPLIT { &mut training } else { &mut partition };
            line.extend(words(matches, &arg, &id(name)));
        }
        // The memory of samples does not depend on the number of partitions.
        let is_sampled = of_links || value(matches, "mode").is_some_and(|mode| mode == "sample");
        let usual = OsStr::new(if is_sampled { "1" } else { "auto" });
        let is_auto = value(matches, NUM_PARTS).unwrap_or(usual) == "auto";
        if value(matches, NUM_PARTS).is_none() {
            partition.push(word(NUM_PARTS, usual));
        }
        let known = PartitionArgs::augment_args(Command::new(""));
        let is_measured = |arg: &Arg| {
            let named = known.get_arguments().find(|other| other.get_long() == arg.get_long());
            named.is_some_and(|other| {
                other.get_id().as_str().starts_with("run-") || arg.get_long() == Some("hidden")
            })
        };
        for arg in of_training().iter().filter(|arg| arg.get_long() != Some(SPLIT)) {
            let words = words(matches, arg, &id(arg.get_long().unwrap_or_default()));
            if is_auto && is_measured(arg) {
                partition.extend(words.iter().cloned());
            }
            training.extend(words);
        }
        if !of_links && !has_masks(matches) {
            partition.push(USUAL_SPLIT.into());
        }
        let edges = files.into_iter().map(ToOwned::to_owned).collect();
        Ok(TrainFilesArgs { partition, training, edges })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> clap::error::Result<()> {
        *self = TrainFilesArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

fn value<'a>(matches: &'a ArgMatches, name: &str) -> Option<&'a OsStr> {
    values(matches, &id(name)).last()
}

/// Whether flags or node tables say which nodes to train on.
fn has_masks(matches: &ArgMatches) -> bool {
    let holds_mask = |file: &OsStr| {
        let text = file.to_string_lossy();
        let (_, path) = GraphFiles::parse_of_type(&text);
        let folder = std::env::temp_dir();
        // Partitioning reports the mistakes of the table.
        let rows = FileRows::open(Path::new(&path), &Ask::new(Wants::Table, &folder));
        rows.is_ok_and(|rows| rows.columns().iter().any(|column| column.name == "train_mask"))
    };
    let is_mask = |value: &OsStr| value.to_string_lossy().contains("train_mask=");
    let values = |name| values(matches, &id(name));
    values(SPLIT).next().is_some()
        || values("split-by").next().is_some()
        || values("node-data").any(is_mask)
        || values("node-table").any(holds_mask)
}

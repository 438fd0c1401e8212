//! `generate`: random graphs for trying things out.

use crate::prepare::generate;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;

use crate::cli::flags::choice::choice;
use crate::cli::flags::future_run::FutureRunArgs;
use crate::cli::flags::num_parts::{Choose, Chosen, NumParts, Uncut, choice as parts_choice};
use crate::cli::show::output::print_path;
use crate::cli::signals::interruptible;
use crate::event::{StepBar, show_status};
use crate::platform::signals;
use crate::prepare::generate::{FeatureDtype, GeneratorConfig, GraphKind};
use crate::prepare::import::SplitShares;
use crate::words::choice::Choice;
use crate::words::error::Result;
use crate::words::size::size;

/// Generate a random graph with classes and features, as a partition directory
///
/// Graphs may have any size; memory stays small. Neighbours mostly share a class, so a graph neural network learns the classes
/// far better (to about 90 %) than from features alone.
///
/// The same seed gives the same graph for any number of partitions. Prints the path of the JSON file: pass it to
/// --part-json to train, or to dgl.distributed.load_partition.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(in crate::cli) struct GenerateArgs {
    /// Random model
    #[arg(long, value_parser = choice::<GraphKind>(), default_value = GraphKind::Sbm.name())]
    kind: GraphKind,
    /// Name of the graph and of its JSON file
    #[arg(long, value_name = "NAME", default_value = "g")]
    name: String,
    /// Number of nodes
    #[arg(long, value_name = "N", default_value_t = 2000)]
    nodes: u64,
    /// Number of directed edges; neighbours are joined in both directions
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    edges: u64,
    /// Number of features of a node
    #[arg(long, value_name = "N", default_value_t = 16)]
    features: u64,
    /// Element type of the features in files
    #[arg(long, value_parser = choice::<FeatureDtype>(), default_value = FeatureDtype::default().name())]
    feature_dtype: FeatureDtype,
    /// Number of classes
    #[arg(long, value_name = "N", default_value_t = 5)]
    classes: u64,
    /// Number of partitions; auto: the smallest tried number with which a training run fits into its --memory-budget. All flags of
    /// the run that change its memory are accepted, too, such as --hidden 64 --mfg
    #[arg(long, value_name = "N|auto", default_value = "4")]
    num_parts: NumParts,
    /// Shares of the nodes for training, validation and test
    #[arg(long, value_name = "SHARES", default_value = "0.6,0.2,0.2")]
    split: SplitShares,
    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Folder to write to, new or empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    // After all other flags, whose names it leaves out.
    #[command(flatten)]
    future: FutureRunArgs,
}

/// Generates a graph, reports it on standard error, and prints the JSON file's path.
pub(in crate::cli) fn generate(mut args: GenerateArgs) -> Result<()> {
    let mut choose = parts_choice(args.num_parts, std::mem::take(&mut args.future))?;
    interruptible(|| generate_into(args, &mut choose))
}

fn generate_into(args: GenerateArgs, choose: &mut Choose) -> Result<()> {
    let config = GeneratorConfig {
        kind: args.kind,
        name: args.name,
        nodes: args.nodes,
        edges: args.edges,
        features: args.features,
        feature_dtype: args.feature_dtype,
        classes: args.classes,
        num_parts: 1,
        split: args.split,
        seed: args.seed,
    };
    config.check()?;
    let Chosen { parts, why } = choose(&Uncut::Generated(&config))?;
    if let Some(why) = why {
        show_status(&why);
    }
    let config = GeneratorConfig { num_parts: parts as u64, ..config };
    let start = Instant::now();
    let mut bar = StepBar::new();
    let generated = generate::generate(&config, &args.out, &mut |progress| {
        signals::check()?;
        bar.show(progress.step, progress.done, progress.total);
        Ok(())
    })?;
    drop(bar);
    show_status(&format!(
        "generated {}: {} nodes, {} edges, {} partition{}, {:.1} % of the edges cut, {} written in {:.1} s",
        config.name,
        config.nodes,
        config.edges,
        config.num_parts,
        if config.num_parts == 1 { "" } else { "s" },
        100.0 * generated.cut_edges as f64 / config.edges as f64,
        size(generated.bytes),
        start.elapsed().as_secs_f64(),
    ));
    print_path(&generated.json)
}

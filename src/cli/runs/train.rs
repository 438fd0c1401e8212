//! Training, the default command.

use crate::run;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::ValueEnum;

use super::end_of_run::end_of_run;
use super::evaluation::tables;
use super::evaluation_flags::EvaluationArgs;
use super::link::{LinkArgs, TaskArg};
use super::model::ModelArgs;
use super::paths::{absolute, absolute_output};
use super::run_flags::RunArgs;
use super::sampling::SamplingArgs;
use super::schedule::{ScheduleArg, ScheduleParser};
use super::setting::{Setting, settings};
use crate::cli::flags::choice::choice;
use crate::cli::flags::fields::with_flags;
use crate::cli::flags::free_folder::claim_folder;
use crate::cli::show::output::print_path;
use crate::event::{Console, Event, Voice, file_name, show_status, voice};
use crate::formats::dgl::config::PartitionConfig;
use crate::io::MadeFolders;
use crate::load::Normalize;
use crate::words::choice::Choice;
use crate::words::error::{Error, Result};

use crate::engine::spill::{ComputeDtype, SpillDtype};
use crate::engine::tape::InitStyle;
use crate::nn::{OptimizerConfig, RelationMerge};
use crate::prepare::import::class_names_beside;
use crate::run::config::{OnNan, Relations, RunConfig, TargetTypes};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OptimizerName {
    Sgd,
    Adam,
    #[value(name = "adamw")]
    AdamW,
}

settings! {
    /// Flags of the folder of results.
    pub(in crate::cli) struct ResultsArgs, fields "" of RunConfig {
        /// Folder of results, new or empty [default: runs/GRAPH-N]
        #[arg(long, value_name = "DIR", help_heading = "Run")]
        out: Option<PathBuf> => out; Results,
        /// Replace the results of an earlier run in the folder of results, and files of --trace and --dump-step; other files stay
        #[arg(long, help_heading = "Run")]
        overwrite: bool; Results,
    }
}

settings! {
    /// Flags of a training run. (clap does not put the members of a group that has flattened ones into it; one is enough to
    /// tell that there is a run.)
    #[allow(clippy::struct_excessive_bools)] // Each is a flag of its own.
    #[group(args = ["part_json"])]
    pub(in crate::cli) struct TrainArgs, fields "" of RunConfig {
        /// Partition directory's JSON file, from `sar-single partition` or dgl.distributed.partition_graph
        #[arg(
            long,
            value_name = "FILE",
            required = false,
            required_unless_present = "resume",
            help_heading = "Data"
        )]
        pub(in crate::cli) part_json: PathBuf => part_json; Existing,
        /// Number of worker processes, one per partition [default: the number of partitions]
        #[arg(long, value_name = "N", help_heading = "Data")]
        world_size: Option<usize>; Existing,
        /// Node features; matched by the end of the key [default: feat or features]
        #[arg(long, value_name = "KEY", help_heading = "Data")]
        features_key: Option<String> => keys.features,
        /// Labels of the nodes for --task [default: label or labels]
        #[arg(long, value_name = "KEY", help_heading = "Data")]
        label_key: Option<String> => keys.labels,
        /// Nodes (with --task link, edges) to train on [default: train_mask; edges: all that are not held out]
        #[arg(long, value_name = "KEY", help_heading = "Data")]
        train_mask_key: Option<String> => keys.train_mask,
        /// Nodes of the validation metric [default: val_mask, if it exists]
        #[arg(long, value_name = "KEY", help_heading = "Data")]
        val_mask_key: Option<String> => keys.val_mask,
        /// Nodes of the test metric [default: test_mask, if it exists]
        #[arg(long, value_name = "KEY", help_heading = "Data")]
        test_mask_key: Option<String> => keys.test_mask,
        /// Multiply messages by these edge weights [default: none]
        #[arg(long, value_name = "KEY", help_heading = "Data")]
        edge_weight_key: Option<String> => keys.edge_weight,
        /// Edge features for the attention scores of egat and gatv2 [default: none]
        #[arg(long, value_name = "KEY", help_heading = "Data")]
        edge_features_key: Option<String> => keys.edge_features,
        /// Divide each feature row by its sum
        #[arg(long, value_parser = choice::<Normalize>(), default_value = Normalize::default().name(), help_heading = "Data")]
        normalize_features: Normalize => normalize_features,

        #[command(flatten)]
        model: ModelArgs,
        /// Give each edge type its own layer, and merge the results for a node type in this way (DGL's HeteroGraphConv)
        /// [default: sum, if node types' features differ in width or are missing; otherwise the graph is treated as homogeneous]
        #[arg(long, value_name = "MERGE", value_parser = choice::<RelationMerge>(), help_heading = "Model")]
        hetero: Option<RelationMerge>,
        /// Node type to predict, or several: author,paper. With a layer for each edge type; implies --hetero sum [default: the type
        /// with labels]
        #[arg(long, value_name = "TYPES", help_heading = "Model")]
        target_type: Option<TargetTypes>,
        /// Library whose distributions of initial weights are used
        #[arg(long, value_name = "LIBRARY", value_parser = choice::<InitStyle>(), default_value = InitStyle::default().name(), help_heading = "Model")]
        init: InitStyle => init,
        /// Start from these weights (safetensors with the state-dict keys of DGL's modules)
        #[arg(long, value_name = "FILE", help_heading = "Model")]
        init_params: Option<PathBuf> => init_params,

        /// The task that the model learns
        #[arg(long, value_enum, default_value_t = TaskArg::Classification, help_heading = "Training")]
        task: TaskArg,
        /// Weights of classes in the loss: balanced, a list, or a file of numbers [default: all 1]
        #[arg(long, value_name = "W", help_heading = "Training")]
        class_weights: Option<String> => class_weights,
        /// Update rule, as in PyTorch
        #[arg(long, value_enum, default_value_t = OptimizerName::Adam, help_heading = "Training")]
        optimizer: OptimizerName; Updates,
        /// Learning rate
        #[arg(long, value_name = "RATE", default_value_t = 0.01, help_heading = "Training")]
        lr: f64; Updates,
        /// Weight decay
        #[arg(long, value_name = "RATE", default_value_t = 0.0, help_heading = "Training")]
        weight_decay: f64; Updates,
        /// How the learning rate changes, as in PyTorch: a name and its settings
        #[arg(long, value_name = "NAME[,SETTING=VALUE,...]", value_parser = ScheduleParser, default_value = "constant", help_heading = "Training")]
        schedule: ScheduleArg; Updates,
        /// Scale gradients down to this norm [default: never]
        #[arg(long, value_name = "NORM", help_heading = "Training")]
        clip_norm: Option<f64> => clip_norm; Updates,
        /// Stop after N epochs without a better validation metric, and keep the best weights [default: never]
        #[arg(long, value_name = "N", help_heading = "Training")]
        patience: Option<u32> => patience; Updates,
        #[command(flatten)]
        evaluation: EvaluationArgs,
        /// Reaction to a loss that is not finite
        #[arg(long, value_parser = choice::<OnNan>(), default_value = OnNan::default().name(), help_heading = "Training")]
        on_nan: OnNan => on_nan; Updates,
        /// Seed of initial weights, dropout and samples
        #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Training")]
        seed: u64 => seed,

        #[command(flatten)]
        sampling: SamplingArgs,
        #[command(flatten)]
        link: LinkArgs,

        /// Use the values of another run's config.toml, except its results folder, as defaults of the flags
        #[arg(long, value_name = "FILE", help_heading = "Run")]
        #[allow(dead_code)] // Read from the parser's matches, before anything else.
        config: Option<PathBuf>,
        #[command(flatten)]
        results: ResultsArgs,
        /// Write a checkpoint every N epochs, for --resume [default: every ten minutes]
        #[arg(long, value_name = "N", help_heading = "Run")]
        checkpoint_every: Option<u32> => checkpoint_every; Updates Results,
        /// Type of the rows that layers keep and send; they compute in single precision
        #[arg(long, value_parser = choice::<SpillDtype>(), default_value = SpillDtype::default().name(), help_heading = "Run")]
        spill_dtype: SpillDtype => spill_dtype,
        /// Type of all rows and of the factors of products; sums, parameters and the optimizer stay in single precision. bf16
        /// implies --spill-dtype bf16
        #[arg(long, value_parser = choice::<ComputeDtype>(), default_value = ComputeDtype::default().name(), help_heading = "Run")]
        compute_dtype: ComputeDtype => compute_dtype,
        /// Keep the results of each layer instead of computing them again: more memory, less work
        #[arg(long, help_heading = "Run")]
        no_remat: bool => policy,
        /// Give each layer only the nodes that labelled nodes need (message flow graphs): the same loss, less work
        #[arg(long, help_heading = "Run")]
        mfg: bool => mfg,
        /// Read the rows of all other partitions before adding them, instead of one partition after the other (one-shot
        /// aggregation): more memory, fewer steps, the same results
        #[arg(long, help_heading = "Run")]
        one_shot: bool => one_shot,
        /// Write the metrics of every epoch for TensorBoard, into a subfolder with the run's name
        #[arg(long, value_name = "DIR", help_heading = "Run")]
        tensorboard: Option<PathBuf> => tensorboard; Updates Results,
        /// Write logits, loss and gradients of the first step to this file, and stop before the update
        #[arg(long, value_name = "FILE", help_heading = "Run")]
        dump_step: Option<PathBuf> => dump_step by absolute_output; Results,
    }
}

/// Trains a model.
pub(in crate::cli) fn train(args: TrainArgs, run_args: RunArgs) -> Result<()> {
    let train = if args.results.overwrite { run::train_over } else { run::train };
    start(args, &run_args, train).map_err(run::end_everywhere)
}

/// Starts a run. Its folder of results is created here if no flag names it, and removed if it stays empty.
fn start(args: TrainArgs, run_args: &RunArgs, train: Start) -> Result<()> {
    let is_named = args.results.out.is_some();
    let mut config = config(args, run_args)?;
    let mut made = MadeFolders::default();
    // A run that only writes a step has no results. Of several machines, the first has the folder.
    if !is_named && config.dump_step.is_none() && run::reports() {
        (config.out, made) = claim_folder(&config.out)?;
    }
    let done = run(&config, train);
    if done.is_ok() {
        made.keep();
    }
    done
}

/// A function that starts training.
pub(in crate::cli) type Start = fn(&RunConfig, &mut dyn FnMut(&Event)) -> Result<()>;

/// Trains a model and shows the progress.
pub(in crate::cli) fn run(config: &RunConfig, train: Start) -> Result<()> {
    let begin = Instant::now();
    let console = Console::new(config.epochs);
    let mut metric = None;
    let several = config.relations.as_ref().is_some_and(Relations::several_targets);
    let class_names = if several {
        // Names belong to one type's classes.
        Vec::new()
    } else {
        class_names_beside(&config.part_json)?
    };
    train(config, &mut |event| match event {
        Event::Note(text) => console.note(&with_flags(text)),
        Event::Epoch(report) => console.epoch(report),
        Event::Batch(report) => console.step(report),
        Event::Evaluation(report) => {
            metric = report.scores.first().map(|scores| scores.metric);
            console.evaluation(report);
            if voice() != Voice::Json {
                show_status(&tables(report, &class_names));
            }
        }
        Event::Progress(progress) => console.progress(progress),
        Event::Checkpoint(epoch) => console.checkpoint(*epoch),
        Event::Log(_)
        | Event::Predicted(_)
        | Event::Turns(_)
        | Event::Usage(_)
        | Event::Failed(_)
        | Event::Logged(_)
        | Event::Step => {}
    })?;
    if let Some(metric) = metric.filter(|_| voice() != Voice::Json) {
        show_status(&end_of_run(config, begin.elapsed().as_secs_f64(), metric)?);
    }
    let written = config.dump_step.as_ref().unwrap_or(&config.out);
    if run::reports() { print_path(written) } else { Ok(()) }
}

/// The configuration of a new run on an existing graph. If no flag names the folder of results, it is still without its
/// number.
pub(in crate::cli) fn config(args: TrainArgs, run_args: &RunArgs) -> Result<RunConfig> {
    let partitions = PartitionConfig::open(&args.part_json)?;
    let parts = partitions.book().num_parts();
    if let Some(world_size) = args.world_size.filter(|n| *n != parts) {
        let problem = format!("is {world_size}, but the graph is cut into {parts} partitions");
        return Err(Error::config("--world-size", problem)
            .with_hint(format!("pass --world-size {parts}: one worker per partition")));
    }
    described(args, run_args, Path::new("runs").join(file_name(partitions.graph_name())))
}

/// The configuration from flags, without reading the graph. Results go to `out` unless a flag names a folder.
pub(in crate::cli) fn described(
    args: TrainArgs,
    run_args: &RunArgs,
    out: PathBuf,
) -> Result<RunConfig> {
    let mut config = RunConfig::new(PathBuf::new(), absolute(out)?);
    let masks = [&args.train_mask_key, &args.val_mask_key, &args.test_mask_key].map(Clone::clone);
    (config.task, config.link) = args.link.config(args.task, masks)?;
    args.set(&mut config)?;
    args.results.set(&mut config)?;
    run_args.set(&mut config)?;
    args.evaluation.set(&mut config.evaluation)?;
    if config.link.is_some() {
        // Masks of edges differ from masks of nodes.
        let keys = &mut config.keys;
        (keys.train_mask, keys.val_mask, keys.test_mask) = (None, None, None);
    }
    if config.compute_dtype == ComputeDtype::Bf16 {
        config.spill_dtype = SpillDtype::Bf16;
    }
    let (lr, weight_decay) = (args.lr, args.weight_decay);
    config.optimizer = match args.optimizer {
        OptimizerName::Sgd => OptimizerConfig::Sgd { lr, momentum: 0.0, weight_decay },
        OptimizerName::Adam => OptimizerConfig::Adam { lr, weight_decay },
        OptimizerName::AdamW => OptimizerConfig::AdamW { lr, weight_decay },
    };
    config.schedule = args.schedule.of(config.epochs);
    let merge = args.hetero.or(args.target_type.is_some().then_some(RelationMerge::Sum));
    config.relations = merge.map(|merge| Relations { merge, target: args.target_type });
    config.model = args.model.config(config.keys.edge_weight.is_some())?;
    config.sampling = args.sampling.config(&config.model)?;
    Ok(config)
}

/// The flags of a run, with their fields and parts of runs.
pub(in crate::cli) fn declared() -> impl Iterator<Item = &'static Setting> {
    let groups = [
        TrainArgs::SETTINGS,
        ResultsArgs::SETTINGS,
        ModelArgs::SETTINGS,
        EvaluationArgs::SETTINGS,
        SamplingArgs::SETTINGS,
        LinkArgs::SETTINGS,
        RunArgs::SETTINGS,
    ];
    groups.into_iter().flatten()
}

//! Flags that describe a configuration.

use toml::Value;

use super::schedule;
use crate::choice::Choice;
use crate::engine::spill::ComputeDtype;
use crate::engine::spill::SpillDtype;
use crate::engine::tape::Policy;
use crate::error::{Error, Result};
use crate::load::{DataKeys, EdgeSplit};
use crate::nn::{ClassWeights, ModelConfig, OptimizerConfig};
use crate::run::config::{LinkConfig, Relations, RunConfig};
use crate::train::{EvaluationConfig, Fanouts, SamplingConfig};

/// A flag of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// Name, without dashes.
    pub name: &'static str,
    /// Value; `None` for a switch.
    pub value: Option<String>,
}

impl Flag {
    /// The flag as one word of a command line.
    pub fn word(&self) -> String {
        match &self.value {
            Some(value) => format!("--{}={value}", self.name),
            None => format!("--{}", self.name),
        }
    }
}

#[derive(Default)]
struct Flags(Vec<Flag>);

impl Flags {
    fn set(&mut self, name: &'static str, value: impl ToString) {
        self.0.push(Flag { name, value: Some(value.to_string()) });
    }

    fn some(&mut self, name: &'static str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    fn name(&mut self, name: &'static str, value: impl Choice) {
        self.some(name, value.name());
    }

    fn switch(&mut self, name: &'static str, on: bool) {
        if on {
            self.0.push(Flag { name, value: None });
        }
    }
}

/// The flags of a training run with this configuration.
///
/// # Errors
/// If the command line has no flag for a value.
pub fn flags(config: &RunConfig) -> Result<Vec<Flag>> {
    let RunConfig {
        part_json,
        keys,
        normalize_features,
        task,
        class_weights,
        model,
        relations,
        policy,
        mfg,
        one_shot,
        optimizer,
        schedule,
        clip_norm,
        patience,
        evaluation,
        on_nan,
        checkpoint_every,
        epochs,
        sampling,
        link,
        seed,
        init,
        init_params,
        resident,
        threads,
        memory_budget,
        spill_dtype,
        compute_dtype,
        io,
        dump_step,
        tensorboard,
        trace,
        partitions,
        out,
        spill_dir,
    } = config;
    let mut flags = Flags::default();
    flags.set("part-json", part_json.display());
    flags.set("out", out.display());
    flags.set("spill-dir", spill_dir.display());
    of_keys(&mut flags, keys);
    flags.name("normalize-features", *normalize_features);
    of_model(&mut flags, model)?;
    match link {
        Some(link) => of_link(&mut flags, link),
        None => flags.name("task", *task),
    }
    flags.some("class-weights", class_weights.as_ref().map(of_class_weights));
    if let Some(Relations { merge, target }) = relations {
        flags.name("hetero", *merge);
        flags.some("target-type", target.as_ref());
    }
    flags.switch("no-remat", *policy == Policy::Retain);
    flags.switch("mfg", *mfg);
    flags.switch("one-shot", *one_shot);
    of_optimizer(&mut flags, *optimizer)?;
    flags.set("schedule", schedule::value(*schedule));
    flags.some("clip-norm", *clip_norm);
    flags.some("patience", *patience);
    of_evaluation(&mut flags, evaluation);
    flags.name("on-nan", *on_nan);
    flags.some("checkpoint-every", *checkpoint_every);
    flags.set("epochs", epochs);
    if let Some(sampling) = sampling {
        of_sampling(&mut flags, sampling);
    }
    flags.set("seed", seed);
    flags.name("init", *init);
    flags.some("init-params", init_params.as_ref().map(|path| path.display()));
    flags.some("resident", *resident);
    flags.set("threads", threads);
    flags.set("memory-budget", memory_budget);
    of_dtypes(&mut flags, *spill_dtype, *compute_dtype);
    flags.name("io", *io);
    flags.some("tensorboard", tensorboard.as_ref().map(|path| path.display()));
    flags.some("trace", trace.as_ref().map(|path| path.display()));
    flags.some("partitions", partitions.as_ref());
    flags.some("dump-step", dump_step.as_ref().map(|path| path.display()));
    Ok(flags.0)
}

fn of_dtypes(flags: &mut Flags, spill: SpillDtype, compute: ComputeDtype) {
    match compute {
        ComputeDtype::F32 => flags.name("spill-dtype", spill),
        ComputeDtype::Bf16 => flags.name("compute-dtype", compute),
    }
}

fn of_class_weights(weights: &ClassWeights) -> String {
    match weights {
        ClassWeights::Balanced => "balanced".to_owned(),
        ClassWeights::Values(values) => list(values),
    }
}

fn of_keys(flags: &mut Flags, keys: &DataKeys) {
    let DataKeys { features, labels, train_mask, val_mask, test_mask, edge_weight, edge_features } =
        keys;
    flags.some("features-key", features.as_ref());
    flags.some("label-key", labels.as_ref());
    flags.some("train-mask-key", train_mask.as_ref());
    flags.some("val-mask-key", val_mask.as_ref());
    flags.some("test-mask-key", test_mask.as_ref());
    flags.some("edge-weight-key", edge_weight.as_ref());
    flags.some("edge-features-key", edge_features.as_ref());
}

fn of_model(flags: &mut Flags, model: &ModelConfig) -> Result<()> {
    let ModelConfig { kind, layers, hidden, dropout, norm, jumping_knowledge, residual } = model;
    let table = kind.table()?;
    for option in kind.spec().options {
        match option.value(&table) {
            None => {}
            Some(Value::Boolean(on)) => flags.switch(option.flag, *on),
            Some(Value::String(word)) => flags.set(option.flag, word),
            Some(number) => flags.set(option.flag, number),
        }
    }
    flags.set("model", kind.spec().name);
    if kind.spec().hidden_layers {
        flags.set("layers", layers);
        flags.set("hidden", hidden);
        flags.set("dropout", dropout);
    }
    if kind.is_stack() {
        flags.name("norm", *norm);
        flags.name("jk", *jumping_knowledge);
        flags.switch("residual", *residual);
    }
    Ok(())
}

fn of_optimizer(flags: &mut Flags, optimizer: OptimizerConfig) -> Result<()> {
    let (name, lr, weight_decay) = match optimizer {
        OptimizerConfig::Sgd { momentum, .. } if momentum != 0.0 => {
            let problem = format!("is {momentum}, but the command line has no momentum");
            return Err(Error::config("optimizer.momentum", problem)
                .with_hint("set it to 0, or train with the library"));
        }
        OptimizerConfig::Sgd { lr, momentum: _, weight_decay } => ("sgd", lr, weight_decay),
        OptimizerConfig::Adam { lr, weight_decay } => ("adam", lr, weight_decay),
        OptimizerConfig::AdamW { lr, weight_decay } => ("adamw", lr, weight_decay),
    };
    flags.set("optimizer", name);
    flags.set("lr", lr);
    flags.set("weight-decay", weight_decay);
    Ok(())
}

fn of_sampling(flags: &mut Flags, sampling: &SamplingConfig) {
    let SamplingConfig { fanouts, replace, edge_probability, batch_size, .. } = sampling;
    let SamplingConfig { sampler_threads, reduce, optimized_batches, log_every, .. } = sampling;
    flags.set("mode", "sample");
    if *fanouts != Fanouts::Same(Vec::new()) {
        flags.set("fanouts", of_fanouts(fanouts));
    }
    flags.switch("replace", *replace);
    flags.some("edge-prob", edge_probability.as_ref());
    flags.set("batch-size", batch_size);
    flags.set("sampler-threads", sampler_threads);
    flags.name("reduce", *reduce);
    flags.switch("optimized-batches", *optimized_batches);
    flags.some("log-every", *log_every);
}

fn of_fanouts(fanouts: &Fanouts) -> String {
    match fanouts {
        Fanouts::Same(same) => list(same),
        Fanouts::ByEtype(lists) => {
            let lists = lists.iter().map(|(etype, fanouts)| format!("{etype}={}", list(fanouts)));
            lists.collect::<Vec<_>>().join(";")
        }
    }
}

fn of_evaluation(flags: &mut Flags, evaluation: &EvaluationConfig) {
    let EvaluationConfig { every, fanouts, keep, metrics } = evaluation;
    flags.some("eval-every", *every);
    flags.some("eval-fanouts", fanouts.as_ref().map(of_fanouts));
    flags.some("keep", keep.and_then(Choice::name));
    let names: Vec<&str> = metrics.iter().filter_map(|metric| metric.name()).collect();
    if !names.is_empty() {
        flags.set("metrics", names.join(","));
    }
}

fn of_link(flags: &mut Flags, link: &LinkConfig) {
    let LinkConfig { score, negatives, target_etype, reverse_etype, split } = link;
    flags.set("task", "link");
    flags.name("score", *score);
    flags.set("negatives", negatives);
    flags.some("target-etype", target_etype.as_ref());
    flags.some("reverse-etype", reverse_etype.as_ref());
    match split {
        EdgeSplit::Usual => {}
        EdgeSplit::Fractions { val, test } => {
            flags.set("split", format!("val={val},test={test}"));
        }
        EdgeSplit::Masks { train, val, test } => {
            flags.set("train-mask-key", train);
            flags.some("val-mask-key", val.as_ref());
            flags.some("test-mask-key", test.as_ref());
        }
    }
}

fn list<T: ToString>(values: &[T]) -> String {
    values.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}

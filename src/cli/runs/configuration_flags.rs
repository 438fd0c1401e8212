//! Flags that describe a configuration.

use toml::Value;

use super::evaluation_flags::EvaluationArgs;
use super::link::LinkArgs;
use super::model::ModelArgs;
use super::run_flags::RunArgs;
use super::sampling::SamplingArgs;
use super::schedule;
use super::setting::{Flag, FlagValue, Of};
use super::train::{ResultsArgs, TrainArgs};
use crate::engine::spill::ComputeDtype;
use crate::load::EdgeSplit;
use crate::nn::{ModelConfig, OptimizerConfig};
use crate::run::config::{LinkConfig, Relations, RunConfig};
use crate::words::error::{Error, Result};

/// The flags of a training run with this configuration.
///
/// # Errors
/// If the command line has no flag for a value.
pub fn flags(config: &RunConfig) -> Result<Vec<Flag>> {
    let mut flags =
        [TrainArgs::flags(config), ResultsArgs::flags(config), RunArgs::flags(config)].concat();
    flags.extend(EvaluationArgs::flags(&config.evaluation));
    if config.compute_dtype == ComputeDtype::Bf16 {
        flags.retain(|flag| flag.name != "spill-dtype");
    }
    flags.push(valued("schedule", schedule::value(config.schedule)));
    flags.extend(of_model(&config.model)?);
    flags.extend(of_optimizer(config.optimizer)?);
    if let Some(Relations { merge, target }) = &config.relations {
        flags.extend(merge.flag("hetero"));
        flags.extend(target.as_ref().and_then(|target| target.flag("target-type")));
    }
    if let Some(sampling) = &config.sampling {
        flags.push(valued("mode", "sample"));
        flags.extend(SamplingArgs::flags(sampling));
    }
    match &config.link {
        Some(link) => flags.extend(of_link(link)),
        None => flags.extend(config.task.flag("task")),
    }
    Ok(flags)
}

fn valued(name: &str, value: impl ToString) -> Flag {
    Flag::new(name, Some(value.to_string()))
}

fn of_model(model: &ModelConfig) -> Result<Vec<Flag>> {
    let kind = model.kind;
    let table = kind.table()?;
    let values = kind.spec().options.iter().map(|option| (option.flag, option.value(&table)));
    let options = values.filter_map(|(flag, value)| match value? {
        Value::Boolean(on) => on.flag(flag),
        Value::String(word) => Some(valued(flag, word)),
        number => Some(valued(flag, number)),
    });
    let mut flags: Vec<Flag> = options.collect();
    flags.push(valued("model", kind.spec().name));
    let has = |of: &Of| match of {
        Of::HiddenLayers => kind.spec().hidden_layers,
        Of::Stacks => kind.is_stack(),
        _ => true,
    };
    let of_none = |flag: &Flag| {
        ModelArgs::SETTINGS
            .iter()
            .any(|setting| setting.id == flag.name && !setting.of.iter().all(has))
    };
    flags.extend(ModelArgs::flags(model).into_iter().filter(|flag| !of_none(flag)));
    Ok(flags)
}

fn of_optimizer(optimizer: OptimizerConfig) -> Result<[Flag; 3]> {
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
    Ok([valued("optimizer", name), valued("lr", lr), valued("weight-decay", weight_decay)])
}

fn of_link(link: &LinkConfig) -> Vec<Flag> {
    let mut flags = LinkArgs::flags(link);
    flags.push(valued("task", "link"));
    match &link.split {
        EdgeSplit::Usual => {}
        EdgeSplit::Fractions { val, test } => {
            flags.push(valued("split", format!("val={val},test={test}")));
        }
        EdgeSplit::Masks { train, val, test } => {
            let masks = [("train", Some(train)), ("val", val.as_ref()), ("test", test.as_ref())];
            let given = masks.into_iter().filter_map(|(part, key)| Some((part, key?)));
            flags.extend(given.map(|(part, key)| valued(&format!("{part}-mask-key"), key)));
        }
    }
    flags
}

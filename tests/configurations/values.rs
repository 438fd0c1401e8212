//! All values of the types that configurations are made of.

use std::iter::successors;

use sar::load::EdgeSplit;
use sar::nn::{ClassWeights, ModelKind, ModelOption, OptimizerConfig, OptionValues, Schedule};
use sar::train::Fanouts;
use sar::words::choice::Choice;
use toml::Value;

/// The values of a field-less enum, as flags name them.
pub(crate) fn all<T: Choice>() -> Vec<T> {
    T::VALUES.iter().map(|named| named.value).collect()
}

/// One model of each kind, with small numbers.
pub(crate) fn kinds() -> Vec<ModelKind> {
    let small = |kind: ModelKind| {
        let numbers = kind.spec().options.iter().filter(|option| {
            let present = option.value(&kind.table().unwrap()).is_some();
            present && matches!(option.values, OptionValues::Whole { .. })
        });
        numbers.fold(kind, |kind, option| with(kind, option, 2.into()))
    };
    ModelKind::all().into_iter().map(small).collect()
}

/// Settings of a kind of model that have each value of each option somewhere, with edge weights and without.
pub(crate) fn settings(kind: ModelKind) -> Vec<ModelKind> {
    let options = kind.spec().options;
    let excluding = |option: &ModelOption| options.iter().any(|other| option.excludes(other));
    let (alone, together): (Vec<_>, Vec<_>) = options.iter().partition(|option| excluding(option));
    let most = together.iter().map(|option| some(option).len()).max().unwrap_or(1);
    let weights = [false, true];
    let mut settings = Vec::new();
    for i in 0..most.max(weights.len()) {
        let set = |kind, option: &&ModelOption| {
            let values = some(option);
            with(kind, option, values[i % values.len()].clone())
        };
        let kind = together.iter().fold(kind, set);
        settings.push(kind.with_edge_weights(weights[i % weights.len()]).unwrap());
    }
    for option in alone {
        settings.extend(some(option).into_iter().map(|value| with(kind, option, value)));
    }
    settings
}

fn with(kind: ModelKind, option: &ModelOption, value: Value) -> ModelKind {
    let mut table = kind.table().unwrap();
    option.set(&mut table, value);
    ModelKind::from_table(table).unwrap()
}

/// OptionValues that an option can have in a run; of numbers two.
fn some(option: &ModelOption) -> Vec<Value> {
    match option.values {
        OptionValues::Switch => vec![false.into(), true.into()],
        OptionValues::Whole { .. } => vec![1.into(), 2.into()],
        OptionValues::Share => vec![0.125.into(), 0.5.into()],
        OptionValues::Probability => vec![0.0.into(), 0.25.into()],
        OptionValues::Positive => vec![0.5.into(), 1.5.into()],
        OptionValues::Words(words) => words.iter().map(|word| word.name.into()).collect(),
    }
}

pub(crate) fn optimizers() -> Vec<OptimizerConfig> {
    let following = |one: &OptimizerConfig| match *one {
        OptimizerConfig::Sgd { lr, momentum: 0.0, weight_decay } => {
            Some(OptimizerConfig::Sgd { lr, momentum: 0.9, weight_decay })
        }
        OptimizerConfig::Sgd { lr, momentum: _, weight_decay } => {
            Some(OptimizerConfig::Adam { lr, weight_decay })
        }
        OptimizerConfig::Adam { lr, weight_decay: _ } => {
            Some(OptimizerConfig::AdamW { lr, weight_decay: 1e-9 })
        }
        OptimizerConfig::AdamW { lr: _, weight_decay: _ } => None,
    };
    let first = OptimizerConfig::Sgd { lr: 0.01 + 0.02, momentum: 0.0, weight_decay: 5e-4 };
    successors(Some(first), following).collect()
}

pub(crate) fn schedules() -> Vec<Schedule> {
    let following = |one: &Schedule| match *one {
        Schedule::Constant => Some(Schedule::Step { step_size: 2, gamma: 0.5 }),
        Schedule::Step { step_size: _, gamma: _ } => Some(Schedule::Cosine { t_max: 7, min: 1e-4 }),
        Schedule::Cosine { t_max: _, min: _ } => {
            Some(Schedule::Plateau { factor: 0.5, patience: 0, min: 1e-5 })
        }
        Schedule::Plateau { factor: _, patience: _, min: _ } => None,
    };
    successors(Some(Schedule::Constant), following).collect()
}

pub(crate) fn class_weights(classes: usize) -> Vec<Option<ClassWeights>> {
    let following = |one: &Option<ClassWeights>| match one {
        None => Some(Some(ClassWeights::Balanced)),
        Some(ClassWeights::Balanced) => {
            let values = (1..=classes).map(|class| class as f64 / 3.0).collect();
            Some(Some(ClassWeights::Values(values)))
        }
        Some(ClassWeights::Values(_)) => None,
    };
    successors(Some(None), following).collect()
}

pub(crate) fn splits() -> Vec<EdgeSplit> {
    let following = |one: &EdgeSplit| match one {
        EdgeSplit::Usual => Some(EdgeSplit::Fractions { val: 0.25, test: 0.125 }),
        EdgeSplit::Fractions { val: _, test: _ } => {
            let key = "weight".to_owned();
            Some(EdgeSplit::Masks { train: key, val: None, test: None })
        }
        EdgeSplit::Masks { train: _, val: _, test: _ } => None,
    };
    successors(Some(EdgeSplit::Usual), following).collect()
}

/// Fan-outs for `layers` layers, on a graph with these edge types.
pub(crate) fn fanouts(layers: usize, etypes: &[&str]) -> Vec<Fanouts> {
    let following = |one: &Fanouts| match one {
        Fanouts::Same(_) => {
            let list = |etype: &&str| ((*etype).to_owned(), vec![-1; layers]);
            Some(Fanouts::ByEtype(etypes.iter().map(list).collect()))
        }
        Fanouts::ByEtype(_) => None,
    };
    successors(Some(Fanouts::Same(vec![3; layers])), following).collect()
}

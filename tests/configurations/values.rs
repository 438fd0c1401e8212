//! All values of the types that configurations are made of.

use std::iter::successors;

use clap::ValueEnum;
use sar::load::EdgeSplit;
use sar::nn::{
    ClassWeights, Heads, ModelKind, Norm, OptimizerConfig, Regularizer, SageAggregator, Schedule,
};
use sar::train::Fanouts;

/// The values of a field-less enum, as flags name them.
pub(crate) fn all<T: ValueEnum + Clone>() -> Vec<T> {
    T::value_variants().to_vec()
}

/// One model of each kind.
pub(crate) fn kinds() -> Vec<ModelKind> {
    let heads = Heads { heads: 2, attention_dropout: 0.0 };
    let edge_weights = false;
    let following = |kind: &ModelKind| match kind {
        ModelKind::Sage { .. } => Some(ModelKind::Gcn { norm: Norm::Both, edge_weights }),
        ModelKind::Gcn { .. } => Some(ModelKind::Gat(heads)),
        ModelKind::Gat(_) => Some(ModelKind::Gatv2(heads)),
        ModelKind::Gatv2(_) => Some(ModelKind::Gin { learn_eps: false, edge_weights }),
        ModelKind::Gin { .. } => Some(ModelKind::Rgcn { regularizer: Regularizer::None }),
        ModelKind::Rgcn { .. } => Some(ModelKind::Appnp { hops: 2, alpha: 0.1, edge_weights }),
        ModelKind::Appnp { .. } => Some(ModelKind::Sgc { hops: 2, edge_weights }),
        ModelKind::Sgc { .. } => Some(ModelKind::Sign { hops: 2, edge_weights }),
        ModelKind::Sign { .. } => None,
    };
    let first = ModelKind::Sage { aggregator: SageAggregator::Mean, edge_weights };
    successors(Some(first), following).collect()
}

/// All settings of a kind of model.
pub(crate) fn settings(kind: ModelKind) -> Vec<ModelKind> {
    let weights = [false, true];
    let heads = [(1, 0.0), (2, 0.25)];
    let heads = heads.map(|(heads, attention_dropout)| Heads { heads, attention_dropout });
    match kind {
        ModelKind::Sage { aggregator: _, edge_weights: _ } => pairs(&all(), &weights)
            .map(|(aggregator, edge_weights)| ModelKind::Sage { aggregator, edge_weights })
            .collect(),
        ModelKind::Gcn { norm: _, edge_weights: _ } => pairs(&all(), &weights)
            .map(|(norm, edge_weights)| ModelKind::Gcn { norm, edge_weights })
            .collect(),
        ModelKind::Gat(Heads { heads: _, attention_dropout: _ }) => {
            heads.map(ModelKind::Gat).to_vec()
        }
        ModelKind::Gatv2(_) => heads.map(ModelKind::Gatv2).to_vec(),
        ModelKind::Gin { learn_eps: _, edge_weights: _ } => pairs(&weights, &weights)
            .map(|(learn_eps, edge_weights)| ModelKind::Gin { learn_eps, edge_weights })
            .collect(),
        ModelKind::Rgcn { regularizer: _ } => {
            let kinds = regularizers().into_iter();
            kinds.map(|regularizer| ModelKind::Rgcn { regularizer }).collect()
        }
        ModelKind::Appnp { hops: _, alpha: _, edge_weights: _ } => pairs(&[0.125, 0.5], &weights)
            .map(|(alpha, edge_weights)| ModelKind::Appnp { hops: 2, alpha, edge_weights })
            .collect(),
        ModelKind::Sgc { hops: _, edge_weights: _ } => pairs(&[1, 3], &weights)
            .map(|(hops, edge_weights)| ModelKind::Sgc { hops, edge_weights })
            .collect(),
        ModelKind::Sign { hops: _, edge_weights: _ } => pairs(&[1, 3], &weights)
            .map(|(hops, edge_weights)| ModelKind::Sign { hops, edge_weights })
            .collect(),
    }
}

fn regularizers() -> Vec<Regularizer> {
    let following = |one: &Regularizer| match one {
        Regularizer::None => Some(Regularizer::Basis(2)),
        Regularizer::Basis(_) => Some(Regularizer::Bdd(2)),
        Regularizer::Bdd(_) => None,
    };
    successors(Some(Regularizer::None), following).collect()
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
        EdgeSplit::Fractions { val: _, test: _ } => {
            let key = "weight".to_owned();
            Some(EdgeSplit::Masks { train: key, val: None, test: None })
        }
        EdgeSplit::Masks { train: _, val: _, test: _ } => None,
    };
    successors(Some(EdgeSplit::Fractions { val: 0.25, test: 0.125 }), following).collect()
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

fn pairs<A: Clone, B: Clone>(a: &[A], b: &[B]) -> impl Iterator<Item = (A, B)> {
    a.iter().flat_map(|a| b.iter().map(|b| (a.clone(), b.clone())))
}

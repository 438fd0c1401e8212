//! The mode of a run, derived from its options. This is the only place that checks which options exclude each other.

use super::link_config::{LinkConfig, PairScore};
use super::run_config::{Relations, RunConfig};
use crate::engine::tape::InitStyle;
use crate::nn::{
    EdgeFeatureUse, EdgeWeights, JumpMode, ModelKind, NormKind, SageAggregator, SageOptions, Task,
};
use crate::train::{EvaluationConfig, ExtraMetric, Fanouts, SamplingConfig};
use crate::words::error::{Error, Result};

/// How a run trains.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mode<'c> {
    /// Steps on the full graph, for node-level tasks.
    FullGraph(Layers<'c>),
    /// Steps on sampled neighbourhoods, for node-level tasks. Evaluations are on the full graph. Models that propagate
    /// features once draw batches of nodes without neighbourhoods.
    Sampled(&'c SamplingConfig, Layers<'c>),
    /// Steps on sampled neighbourhoods of pairs of nodes, for link prediction.
    Links(&'c LinkConfig, &'c SamplingConfig, Layers<'c>),
}

/// How a model treats edge types.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Layers<'c> {
    /// One layer for the edges of all types; `Pass` says how it runs on the full graph.
    Shared(Pass),
    /// One layer per edge type; `Pass` says how they run on the full graph.
    PerRelation(&'c Relations, Pass),
}

/// How a layer gets rows of other partitions in a pass over the full graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// Rows of one partition after the other.
    Sequential,
    /// Rows of all other partitions at once.
    OneShot,
    /// Rows of one partition after the other, and only those that labelled nodes need.
    MessageFlow,
}

impl<'c> Mode<'c> {
    /// The mode that a run's options select.
    ///
    /// # Errors
    /// If options exclude each other.
    pub fn of(config: &'c RunConfig) -> Result<Self> {
        check_model(config)?;
        check_evaluation(config)?;
        let layers = layers(config)?;
        match (&config.link, &config.sampling) {
            (Some(link), sampling) => {
                let sampling = sampling.as_ref().ok_or_else(|| {
                    Error::config("link", "is trained on sampled neighbourhoods")
                        .with_hint("add ‹sampling›")
                })?;
                check_links(config, link, sampling)?;
                check_samples(config)?;
                Ok(Mode::Links(link, sampling, layers))
            }
            (None, Some(sampling)) => {
                check_rows(config, sampling)?;
                check_samples(config)?;
                Ok(Mode::Sampled(sampling, layers))
            }
            (None, None) => Ok(Mode::FullGraph(layers)),
        }
    }
}

fn refused(field: &str, problem: &str, hint: &str) -> Result<()> {
    Err(Error::config(field, problem).with_hint(hint))
}

fn check_model(config: &RunConfig) -> Result<()> {
    let model = &config.model;
    let takes_none = |kind: ModelKind| kind.spec().edge_weights == EdgeWeights::Refused;
    if config.keys.edge_weight.is_some() && takes_none(model.kind) {
        let others = ModelKind::names("and", takes_none);
        return refused(
            "keys.edge_weight",
            "this model's layers take no edge weights",
            &format!("leave it out, or use another model than {others}"),
        );
    }
    let pools =
        matches!(model.kind, ModelKind::Sage(SageOptions { aggregator: SageAggregator::Pool, .. }));
    if config.keys.edge_weight.is_some() && pools {
        return refused(
            "keys.edge_weight",
            "edge weights do not combine with the maximum of ‹model.aggregator=pool›",
            "leave it out, or use ‹model.aggregator=mean› or ‹model.aggregator=gcn›",
        );
    }
    if config.init_params.is_some() && config.init != InitStyle::default() {
        let problem = "no initial weights are drawn with ‹init_params›";
        return refused("init", problem, "leave one of them out");
    }
    check_edge_features(config)?;
    check_targets(config)?;
    let plain = model.norm == NormKind::None
        && model.jumping_knowledge == JumpMode::None
        && !model.residual;
    if !plain && !model.kind.is_stack() {
        let others = ModelKind::names("and", |kind| !kind.is_stack());
        return refused(
            "model.kind",
            "‹model.norm›, ‹model.jumping_knowledge› and ‹model.residual› need a stack of graph layers",
            &format!("leave them out of ‹model.kind={others}›"),
        );
    }
    Ok(())
}

/// Refuses settings that need a single predicted node type if there are several.
fn check_targets(config: &RunConfig) -> Result<()> {
    if !config.relations.as_ref().is_some_and(Relations::several_targets) {
        return Ok(());
    }
    let one_type = "name one node type with ‹relations.target=TYPE›";
    if config.task != Task::Classification && config.link.is_none() {
        let problem = "several node types are predicted, which needs one class per node";
        return refused("task", problem, one_type);
    }
    if config.evaluation.metrics.contains(&ExtraMetric::RocAuc) {
        let problem = "roc_auc needs a single target node type";
        return refused("evaluation.metrics", problem, &format!("leave it out, or {one_type}"));
    }
    Ok(())
}

/// Checks that edge features are given to models that need them, and only to models that support them.
fn check_edge_features(config: &RunConfig) -> Result<()> {
    let spec = config.model.kind.spec();
    match (spec.edge_features, &config.keys.edge_features) {
        (EdgeFeatureUse::Refused, Some(_)) => {
            let takes = |kind: ModelKind| kind.spec().edge_features != EdgeFeatureUse::Refused;
            refused(
                "keys.edge_features",
                "this model's layers take no edge features",
                &format!("leave it out, or use ‹model.kind={}›", ModelKind::names("or", takes)),
            )
        }
        (EdgeFeatureUse::Required, None) => refused(
            "model.kind",
            &format!("{} needs edge features", spec.name),
            "name them with ‹keys.edge_features=KEY›",
        ),
        _ => Ok(()),
    }
}

/// Checks that options for evaluations are only given to runs with evaluations.
fn check_evaluation(config: &RunConfig) -> Result<()> {
    let EvaluationConfig { fanouts, metrics, .. } = &config.evaluation;
    let samples_nodes = config.sampling.is_some() && config.link.is_none();
    let (field, problem, hint) = match () {
        () if fanouts.is_some() && !samples_nodes => (
            "evaluation.fanouts",
            "is for models of nodes that are trained on sampled neighbourhoods",
            "leave it out",
        ),
        () if fanouts.is_some() && !config.regime().evaluates_epochs() => (
            "evaluation.fanouts",
            "no epoch is evaluated, and the evaluation at the end is on the full graph",
            "leave it out, or add ‹evaluation.every=N›",
        ),
        () if !metrics.is_empty() && config.link.is_some() => {
            ("evaluation.metrics", "the area of edges is always computed", "leave it out")
        }
        () if !metrics.is_empty() && !config.task.has_classes() => {
            ("evaluation.metrics", "a regression has no classes", "leave it out")
        }
        () => return Ok(()),
    };
    refused(field, problem, hint)
}

fn layers(config: &RunConfig) -> Result<Layers<'_>> {
    let Some(relations) = &config.relations else { return Ok(Layers::Shared(pass(config)?)) };
    if config.model.kind.spec().relations {
        return Ok(Layers::PerRelation(relations, pass(config)?));
    }
    let problem = "is for features of one width on every node type; here each edge type has a layer of \
                   its own";
    let kinds = ModelKind::names("or", |kind| kind.spec().relations);
    Err(Error::config("model.kind", problem).with_hint(format!("use ‹model.kind={kinds}›")))
}

fn pass(config: &RunConfig) -> Result<Pass> {
    if config.mfg && config.model.norm == NormKind::Batch {
        refused(
            "mfg",
            "batch statistics need all nodes, but ‹mfg› leaves some out",
            "leave ‹mfg› out, or use ‹model.norm=layer›",
        )?;
    }
    match (config.mfg, config.one_shot) {
        (true, true) => Err(Error::config("one_shot", "cannot be combined with ‹mfg›")
            .with_hint("leave one of them out")),
        (true, false) => Ok(Pass::MessageFlow),
        (false, true) => Ok(Pass::OneShot),
        (false, false) => Ok(Pass::Sequential),
    }
}

fn check_links(config: &RunConfig, link: &LinkConfig, sampling: &SamplingConfig) -> Result<()> {
    if config.relations.as_ref().is_some_and(|relations| relations.target.is_some()) {
        return refused(
            "relations.target",
            "names nodes, but edges are predicted",
            "leave it out with ‹link›, or name an edge type with ‹link.target_etype=TYPE›",
        );
    }
    if link.reverse_etype.is_some() && link.target_etype.is_none() {
        return refused(
            "link.reverse_etype",
            "all edge types are predicted, and no edges between two ends of a batch are used",
            "leave it out, or add ‹link.target_etype=TYPE›",
        );
    }
    if link.score == PairScore::Complex && config.model.hidden % 2 != 0 {
        return refused(
            "model.hidden",
            "is odd, but the score takes half of a row as real parts, half as imaginary ones",
            "choose an even number, or another ‹link.score›",
        );
    }
    let given = [
        ("class_weights", config.class_weights.is_some(), "edges have no classes"),
        ("keys.labels", config.keys.labels.is_some(), "edges have no labels"),
        ("mfg", config.mfg, "is for training on the full graph"),
        ("one_shot", config.one_shot, "is for training on the full graph"),
        ("dump_step", config.dump_step.is_some(), "is for models of nodes"),
        (
            "sampling.edge_probability",
            sampling.edge_probability.is_some(),
            "held-out edges have probability 0, the others are drawn uniformly",
        ),
        ("sampling.optimized_batches", sampling.optimized_batches, "groups nodes, not edges"),
    ];
    match given.iter().find(|(_, given, _)| *given) {
        Some((field, _, problem)) => refused(field, problem, "leave it out with ‹link›"),
        None => Ok(()),
    }
}

/// Refuses settings for neighbourhoods in a run on batches of nodes without neighbours.
fn check_rows(config: &RunConfig, sampling: &SamplingConfig) -> Result<()> {
    if !config.model.kind.propagates_once() {
        return Ok(());
    }
    let draws = "this model's batches are nodes without neighbours";
    let given = [
        ("sampling.fanouts", sampling.fanouts != Fanouts::Same(Vec::new()), draws),
        ("sampling.replace", sampling.replace, draws),
        ("sampling.edge_probability", sampling.edge_probability.is_some(), draws),
        ("sampling.optimized_batches", sampling.optimized_batches, draws),
        ("evaluation.fanouts", config.evaluation.fanouts.is_some(), draws),
        ("mfg", config.mfg, "only labelled nodes are kept in any case"),
    ];
    match given.iter().find(|(_, given, _)| *given) {
        Some((field, _, problem)) => refused(field, problem, "leave it out"),
        None => Ok(()),
    }
}

fn check_samples(config: &RunConfig) -> Result<()> {
    let name = config.model.kind.spec().name;
    let (field, problem, remedy) = match (config.model.norm, config.model.kind) {
        (NormKind::Batch, _) => (
            "model.norm",
            "batch statistics need all nodes of the graph".to_owned(),
            "use ‹model.norm=layer›",
        ),
        (_, kind) if kind.propagates_once() && config.link.is_some() => (
            "model.kind",
            format!(
                "{name} reads the neighbourhoods only once, but the edges of each batch are hidden from it"
            ),
            "choose another model",
        ),
        (_, kind) if kind.normalises_edge_weights() && !kind.propagates_once() => (
            "keys.edge_weight",
            format!("‹model.kind={name}› divides edge weights by sums over the full graph"),
            "choose another model",
        ),
        _ if config.dump_step.is_some() => {
            return refused(
                "dump_step",
                "a step on sampled neighbourhoods has no logits of all nodes",
                "leave out ‹sampling›: the file describes a full-graph step",
            );
        }
        _ => return Ok(()),
    };
    let or = if config.link.is_some() { "" } else { ", or train on the full graph" };
    refused(field, &problem, &format!("{remedy}{or}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::EdgeSplit;
    use crate::nn::RelationMerge;
    use crate::train::Fanouts;

    fn flat(change: impl FnOnce(&mut RunConfig)) -> RunConfig {
        let mut config = RunConfig::new("g.json", "out");
        change(&mut config);
        config
    }

    fn sampling() -> SamplingConfig {
        SamplingConfig { batch_size: 4, ..SamplingConfig::new(Fanouts::Same(vec![10; 3])) }
    }

    fn link() -> LinkConfig {
        let split = EdgeSplit::Fractions { val: 0.05, test: 0.1 };
        LinkConfig {
            score: PairScore::Dot,
            negatives: 1,
            target_etype: None,
            reverse_etype: None,
            added_loops: false,
            split,
        }
    }

    #[test]
    fn flat_options_make_one_mode() {
        let relations = Relations { merge: RelationMerge::Sum, target: None };
        let config = flat(|config| config.one_shot = true);
        assert_eq!(Mode::of(&config).unwrap(), Mode::FullGraph(Layers::Shared(Pass::OneShot)));
        let config = flat(|config| {
            config.sampling = Some(sampling());
            config.relations = Some(relations.clone());
        });
        let by_relation = Layers::PerRelation(&relations, Pass::Sequential);
        assert_eq!(Mode::of(&config).unwrap(), Mode::Sampled(&sampling(), by_relation));
        let config = flat(|config| {
            config.sampling = Some(sampling());
            config.link = Some(link());
        });
        let shared = Layers::Shared(Pass::Sequential);
        assert_eq!(Mode::of(&config).unwrap(), Mode::Links(&link(), &sampling(), shared));
    }

    #[test]
    fn options_that_exclude_each_other_are_refused_from_a_library_too() {
        let gat = ModelKind::named("gat").unwrap();
        let sgc = ModelKind::named("sgc").unwrap();
        let changes: [fn(&mut RunConfig, ModelKind, ModelKind); 7] = [
            |config, _, _| (config.mfg, config.one_shot) = (true, true),
            |config, _, _| (config.mfg, config.model.norm) = (true, NormKind::Batch),
            |config, gat, _| {
                config.model.kind = gat;
                config.keys.edge_weight = Some("w".to_owned());
            },
            |config, _, _| {
                let (aggregator, edge_weights) = (SageAggregator::Pool, true);
                config.model.kind = ModelKind::Sage(SageOptions { aggregator, edge_weights });
                config.keys.edge_weight = Some("w".to_owned());
            },
            |config, _, sgc| (config.model.kind, config.model.residual) = (sgc, true),
            |config, _, _| config.link = Some(link()),
            |config, _, sgc| (config.model.kind, config.sampling) = (sgc, Some(sampling())),
        ];
        for (i, change) in changes.iter().enumerate() {
            let config = flat(|config| change(config, gat, sgc));
            assert!(Mode::of(&config).is_err(), "case {i}");
        }
    }
}

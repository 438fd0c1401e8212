//! Configurations that a run can have: every kind of model in every mode, and every value of every option somewhere.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::iter::successors;

use sar::engine::spill::{ComputeDtype, SpillDtype};
use sar::engine::tape::{InitStyle, Policy};
use sar::io::IoMode;
use sar::load::{DataKeys, EdgeSplit, Normalize};
use sar::nn::{
    EdgeFeatureUse, JumpMode, ModelConfig, ModelKind, NormKind, OptimizerConfig, RelationMerge,
    SageAggregator, SageOptions, Task,
};
use sar::run::config::{LinkConfig, PairScore};
use sar::run::config::{MemoryBudget, OnNan, Relations, RunConfig, TargetTypes};
use sar::train::{EvaluationConfig, ExtraMetric, Fanouts, GradientReduce, Keep, SamplingConfig};

use super::common::repository;
use super::values::{all, class_weights, fanouts, kinds, optimizers, schedules, settings, splits};

/// A way to train.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Mode {
    Full,
    Mfg,
    OneShot,
    Retain,
    Sampled,
    Link,
    Relations,
    MfgRelations,
    OneShotRelations,
    SampledRelations,
    LinkRelations,
    TwoTargets,
    SampledTwoTargets,
}

/// A configuration, and its graph and mode.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) mode: Mode,
    pub(crate) config: RunConfig,
}

impl Case {
    /// The flags of each prediction that covers a node type; none where the run predicts one type.
    pub(crate) fn predictions(&self) -> Vec<Vec<&'static str>> {
        match self.mode {
            Mode::TwoTargets | Mode::SampledTwoTargets => {
                vec![vec!["--target-type=author"], vec!["--target-type=paper"]]
            }
            _ => vec![Vec::new()],
        }
    }
}

/// The values that options can have, and those that they have had, by the name of the option.
#[derive(Default)]
struct Values {
    possible: BTreeSet<(&'static str, String)>,
    taken: BTreeSet<(&'static str, String)>,
}

impl Values {
    /// One of the values: one that no case has had, if any is left.
    fn next<T: Clone + Debug>(&mut self, option: &'static str, values: &[T], turn: usize) -> T {
        let key = |value: &T| (option, format!("{value:?}"));
        self.possible.extend(values.iter().map(key));
        let fresh = values.iter().position(|value| !self.taken.contains(&key(value)));
        let value = &values[fresh.unwrap_or(turn % values.len())];
        self.taken.insert(key(value));
        value.clone()
    }
}

/// Sets each field to one of its values, such that the configuration runs. A field that is not named does not compile.
macro_rules! rotate {
    ($turn:expr, $seen:expr, $config:ident, $at:expr, $type:ident { $($field:ident: $values:expr),* $(,)? }) => {{
        let at: fn(&mut RunConfig) -> &mut $type = $at;
        let $type { $($field: _),* } = at($config);
        $(
            let mut values: Vec<_> = $values.into_iter().collect();
            values.retain(|value| {
                let mut config = $config.clone();
                at(&mut config).$field = value.clone();
                runs(&config)
            });
            let option = concat!(stringify!($type), ".", stringify!($field));
            let value = $seen.next(option, &values, $turn);
            at($config).$field = value;
        )*
    }};
}

/// A value, and for each field the same value with each value of that field. A field that is not named does not compile.
macro_rules! vary {
    ($base:expr, $type:ident { $($field:ident: $values:expr),* $(,)? }) => {{
        let base = $base.clone();
        let $type { $($field: _),* } = &base;
        let mut all = vec![base.clone()];
        $(for value in $values {
            let mut one = base.clone();
            one.$field = value;
            all.push(one);
        })*
        all
    }};
}
pub(crate) use vary;

/// All cases. Every value that an option can have occurs in one of them.
pub(crate) fn cases() -> Vec<Case> {
    let mut values = Values::default();
    let mut cases = Vec::new();
    for kind in kinds() {
        for mode in modes() {
            let mut config = start(kind, mode);
            if !runs(&config) {
                continue;
            }
            choose(&mut config, cases.len(), &mut values);
            let name = format!("{kind:?} {mode:?}");
            cases.push(Case { name, mode, config });
        }
    }
    let never: Vec<_> = values.possible.difference(&values.taken).collect();
    assert!(never.is_empty(), "in no case: {never:?}");
    cases
}

fn modes() -> impl Iterator<Item = Mode> {
    let following = |mode: &Mode| match mode {
        Mode::Full => Some(Mode::Mfg),
        Mode::Mfg => Some(Mode::OneShot),
        Mode::OneShot => Some(Mode::Retain),
        Mode::Retain => Some(Mode::Sampled),
        Mode::Sampled => Some(Mode::Link),
        Mode::Link => Some(Mode::Relations),
        Mode::Relations => Some(Mode::MfgRelations),
        Mode::MfgRelations => Some(Mode::OneShotRelations),
        Mode::OneShotRelations => Some(Mode::SampledRelations),
        Mode::SampledRelations => Some(Mode::LinkRelations),
        Mode::LinkRelations => Some(Mode::TwoTargets),
        Mode::TwoTargets => Some(Mode::SampledTwoTargets),
        Mode::SampledTwoTargets => None,
    };
    successors(Some(Mode::Full), following)
}

/// A small run of a kind of model in a mode.
fn start(kind: ModelKind, mode: Mode) -> RunConfig {
    let two_targets = matches!(mode, Mode::TwoTargets | Mode::SampledTwoTargets);
    let one_target = matches!(
        mode,
        Mode::Relations
            | Mode::MfgRelations
            | Mode::OneShotRelations
            | Mode::SampledRelations
            | Mode::LinkRelations
    );
    let by_relation = one_target || two_targets;
    let graph = match mode {
        _ if two_targets => "tests/fixtures/hetero_two_targets/g.json",
        _ if one_target => "tests/fixtures/hetero_uneven/g.json",
        _ => "data/karate/karate.json",
    };
    let mut config = RunConfig::new(repository(graph), "set by the test");
    config.model = ModelConfig { kind, layers: 2, hidden: 4, dropout: 0.25, ..config.model };
    config.threads = 1;
    config.checkpoint_every = Some(1);
    config.epochs = 4;
    config.mfg = matches!(mode, Mode::Mfg | Mode::MfgRelations);
    config.one_shot = matches!(mode, Mode::OneShot | Mode::OneShotRelations);
    if mode == Mode::Retain {
        config.policy = Policy::Retain;
    }
    let target = two_targets.then(|| TargetTypes::new(["author", "paper"]));
    config.relations = by_relation.then_some(Relations { merge: RelationMerge::Sum, target });
    if two_targets && kind.spec().edge_types {
        // Types with different numbers of classes need outputs of their own.
        config.model.jumping_knowledge = JumpMode::Max;
    }
    let link = matches!(mode, Mode::Link | Mode::LinkRelations);
    if link || matches!(mode, Mode::Sampled | Mode::SampledRelations | Mode::SampledTwoTargets) {
        config.sampling = Some(SamplingConfig {
            fanouts: fanouts(if kind.propagates_once() { 0 } else { 2 }, &[]).remove(0),
            replace: false,
            edge_probability: None,
            batch_size: 4,
            sampler_threads: 0,
            reduce: GradientReduce::Mean,
            optimized_batches: false,
            log_every: None,
        });
    }
    config.link = link.then(|| LinkConfig {
        score: PairScore::Dot,
        negatives: 2,
        // No edge ends at fields.
        target_etype: by_relation.then(|| "writes".to_owned()),
        reverse_etype: None,
        added_loops: false,
        split: splits().remove(0),
    });
    config
}

/// Sets each option to one of its values.
#[allow(clippy::too_many_lines)] // A list.
fn choose(config: &mut RunConfig, turn: usize, seen: &mut Values) {
    // SGC is one linear layer.
    let (sgc, plain) = (!config.model.kind.spec().hidden_layers, ModelConfig::default());
    rotate!(
        turn,
        seen,
        config,
        |config| &mut config.model,
        ModelConfig {
            kind: settings(config.model.kind),
            layers: if sgc { vec![plain.layers] } else { vec![2] },
            hidden: if sgc { vec![plain.hidden] } else { vec![4, 6] },
            dropout: if sgc { vec![plain.dropout] } else { vec![0.25, 0.0] },
            norm: all::<NormKind>(),
            jumping_knowledge: all::<JumpMode>(),
            residual: [false, true],
        }
    );
    let hetero = config.relations.is_some();
    let classes = match (several_targets(config), hetero) {
        (true, _) => 7,
        (false, true) => 3,
        (false, false) => 2,
    };
    rotate!(
        turn,
        seen,
        config,
        |config| config,
        RunConfig {
            part_json: [config.part_json.clone()],
            task: all::<Task>(),
            keys: keys(config),
            normalize_features: all::<Normalize>(),
            class_weights: class_weights(if config.task == Task::Multilabel {
                34
            } else {
                classes
            }),
            model: [config.model.clone()],
            relations: match &config.relations {
                None => vec![None],
                Some(relations) => relations_of(relations).into_iter().map(Some).collect(),
            },
            policy: [config.policy],
            mfg: [config.mfg],
            one_shot: [config.one_shot],
            optimizer: optimizers(),
            schedule: schedules(),
            clip_norm: [None, Some(0.5)],
            patience: [None, Some(1000)],
            evaluation: evaluations(config, hetero),
            on_nan: all::<OnNan>(),
            checkpoint_every: [Some(1), Some(2)],
            epochs: [config.epochs],
            sampling: match &config.sampling {
                None => vec![None],
                Some(sampling) => {
                    let layers = config.model.sampled_layers();
                    samplings(sampling, layers, hetero).into_iter().map(Some).collect()
                }
            },
            link: match &config.link {
                None => vec![None],
                Some(link) => links(link, hetero).into_iter().map(Some).collect(),
            },
            seed: [0, 7],
            init: all::<InitStyle>(),
            init_params: [None],
            resident: [None, Some(1), Some(2)],
            threads: [1, 2],
            memory_budget: [MemoryBudget::Bytes(1 << 30), MemoryBudget::Min],
            spill_dtype: all::<SpillDtype>(),
            compute_dtype: all::<ComputeDtype>(),
            io: all::<IoMode>(),
            dump_step: [None],
            tensorboard: [None],
            trace: [None],
            partitions: [config.partitions.clone()],
            out: [config.out.clone()],
            spill_dir: [config.spill_dir.clone()],
        }
    );
}

fn keys(config: &RunConfig) -> Vec<DataKeys> {
    let some = |key: &str| Some(key.to_owned());
    let labels = match config.task {
        Task::Multilabel => some("features"),
        Task::Classification | Task::Regression => None,
    };
    let edge_weight = config.model.kind.facts().edge_weights.then(|| "weight".to_owned());
    let edge_features = |optional: bool| match config.model.kind.spec().edge_features {
        EdgeFeatureUse::Required => some("weight"),
        EdgeFeatureUse::Optional if optional => some("weight"),
        EdgeFeatureUse::Optional | EdgeFeatureUse::Refused => None,
    };
    let features = if config.relations.is_some() { "feat" } else { "features" };
    let named = DataKeys {
        features: some(features),
        labels: labels.clone(),
        train_mask: some("train_mask"),
        val_mask: some("val_mask"),
        test_mask: some("test_mask"),
        edge_weight: edge_weight.clone(),
        edge_features: edge_features(true),
    };
    let edge_features = edge_features(false);
    vec![DataKeys { labels, edge_weight, edge_features, ..DataKeys::default() }, named]
}

fn relations_of(base: &Relations) -> Vec<Relations> {
    // The target follows from the labels, or is that of the mode.
    vary!(base, Relations { merge: all::<RelationMerge>(), target: [] })
}

fn etype_fanouts(layers: usize, hetero: bool) -> Vec<Fanouts> {
    let etypes: &[&str] =
        if hetero { &["writes", "of", "paper:links:paper", "paper:links:author"] } else { &["_E"] };
    fanouts(layers, etypes)
}

fn samplings(base: &SamplingConfig, layers: usize, hetero: bool) -> Vec<SamplingConfig> {
    let base = SamplingConfig { fanouts: etype_fanouts(layers, hetero).remove(0), ..base.clone() };
    if layers != 2 {
        // Models of two layers have all values.
        return vec![base];
    }
    vary!(
        base,
        SamplingConfig {
            fanouts: etype_fanouts(layers, hetero),
            replace: [true],
            edge_probability: [Some("weight".to_owned())],
            batch_size: [3],
            sampler_threads: [1],
            reduce: all::<GradientReduce>(),
            optimized_batches: [true],
            log_every: [Some(2)],
        }
    )
}

fn evaluations(config: &RunConfig, hetero: bool) -> Vec<EvaluationConfig> {
    let base = EvaluationConfig { every: Some(1), ..config.evaluation.clone() };
    let samples = config.sampling.is_some() && config.link.is_none();
    let with_classes = config.link.is_none() && config.task.has_classes();
    let layers = config.model.sampled_layers();
    // Models of two layers have all values.
    let most = if layers == 2 { usize::MAX } else { 1 };
    let fanouts = etype_fanouts(layers, hetero).into_iter().take(if samples { most } else { 0 });
    let mut values = vec![config.evaluation.clone()];
    values.extend(vary!(
        base,
        EvaluationConfig {
            every: [Some(2)],
            fanouts: fanouts.into_iter().map(Some),
            keep: all::<Keep>().into_iter().map(Some),
            metrics: [vec![ExtraMetric::RocAuc]].into_iter().filter(|_| with_classes),
        }
    ));
    values
}

fn links(base: &LinkConfig, hetero: bool) -> Vec<LinkConfig> {
    let target = if hetero { "paper:links:author" } else { "_E" };
    let mut reverse = vec![None];
    if hetero {
        reverse.push(Some("paper:links:author".to_owned()));
    }
    vary!(
        base,
        LinkConfig {
            // Models of nodes with features have all scores and numbers.
            score: all::<PairScore>().into_iter().filter(|_| !hetero),
            negatives: [3].into_iter().filter(|_| !hetero),
            target_etype: [Some(target.to_owned())],
            reverse_etype: reverse,
            // The graph has it, and no flag.
            added_loops: [false; 0],
            split: splits(),
        }
    )
}

/// Whether several node types are predicted.
fn several_targets(config: &RunConfig) -> bool {
    let target = config.relations.as_ref().and_then(|relations| relations.target.as_ref());
    target.is_some_and(TargetTypes::are_several)
}

/// Whether a run can have this configuration.
fn runs(config: &RunConfig) -> bool {
    let ModelConfig { kind, norm, jumping_knowledge, residual, .. } = config.model;
    let plain = norm == NormKind::None && jumping_knowledge == JumpMode::None && !residual;
    let of_stack = plain || kind.is_stack();
    let of_relations =
        config.relations.is_none() || (kind.spec().relations && config.task != Task::Multilabel);
    let of_samples = match &config.sampling {
        None => true,
        Some(sampling) => {
            norm != NormKind::Batch
                && if kind.propagates_once() {
                    config.link.is_none() && config.evaluation.fanouts.is_none() && !config.mfg
                } else {
                    !kind.normalises_edge_weights()
                }
                && (config.link.is_none()
                    || (sampling.edge_probability.is_none() && !sampling.optimized_batches))
        }
    };
    let masks_of_nodes = config.keys.train_mask.is_some()
        || config.keys.val_mask.is_some()
        || config.keys.test_mask.is_some();
    // The masks here name no validation edges, and the usual share of few edges is none.
    let judged = config.patience.is_some()
        || config.schedule.needs_validation()
        || config.evaluation.keep == Some(Keep::Best);
    let of_masks = match &config.link {
        Some(LinkConfig { split: EdgeSplit::Fractions { .. }, .. }) | None => true,
        Some(_) => !judged,
    };
    let of_link = config.link.is_none()
        || (config.task == Task::Classification
            && config.class_weights.is_none()
            && config.keys.labels.is_none()
            && !masks_of_nodes);
    let of_classes = config.class_weights.is_none() || config.task != Task::Regression;
    // The command line has no momentum, and bfloat16 in computation implies bfloat16 in storage.
    let momentum =
        matches!(config.optimizer, OptimizerConfig::Sgd { momentum, .. } if momentum != 0.0);
    let narrow =
        config.compute_dtype == ComputeDtype::F32 || config.spill_dtype == SpillDtype::Bf16;
    // A maximum is not weighted.
    let of_pool = !matches!(
        kind,
        ModelKind::Sage(SageOptions { aggregator: SageAggregator::Pool, edge_weights: true })
    );
    let of_batches = !(config.mfg && norm == NormKind::Batch);
    let of_targets = !several_targets(config)
        || (config.task == Task::Classification
            && !config.evaluation.metrics.contains(&ExtraMetric::RocAuc)
            && !(kind.spec().edge_types && jumping_knowledge == JumpMode::None));
    of_stack
        && of_targets
        && of_relations
        && of_samples
        && of_link
        && of_classes
        && !momentum
        && narrow
        && of_batches
        && of_pool
        && of_masks
}

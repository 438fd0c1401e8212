//! A configuration is read as it was written.

use std::path::{Path, PathBuf};

use sar::engine::spill::{ComputeDtype, SpillDtype};
use sar::engine::tape::{InitStyle, Policy};
use sar::io::IoMode;
use sar::load::{DataKeys, Normalize};
use sar::nn::{JumpMode, ModelConfig, NormKind, RelationMerge, Task};
use sar::run::config::{LinkConfig, PairScore};
use sar::run::config::{MemoryBudget, OnNan, Relations, RunConfig, TargetTypes};
use sar::train::{EvaluationConfig, ExtraMetric, GradientReduce, Keep, SamplingConfig};

use super::case::{cases, vary};
use super::values::{all, class_weights, fanouts, kinds, optimizers, schedules, settings, splits};

#[test]
fn every_configuration_is_read_as_it_was_written() {
    let base = RunConfig::new("/data/a \"graph\".json", "/runs/ü");
    let of_cases = cases().into_iter().map(|case| case.config);
    for config in of_cases.chain(variations(&base)) {
        let text = config.to_toml().unwrap();
        let read = RunConfig::from_toml(Path::new("config.toml"), &text);
        assert_eq!(read.unwrap_or_else(|e| panic!("{e}\n{text}")), config, "{text}");
    }
}

/// The configuration with each of its fields changed, including values that no run can have.
#[allow(clippy::too_many_lines)] // A list.
fn variations(base: &RunConfig) -> Vec<RunConfig> {
    let texts = || [Some(String::new()), Some("_N/\"a\" = 'b'\n#[model]".to_owned())];
    let paths = || [Some(PathBuf::from("a")), Some(PathBuf::from("/b\\c\n"))];
    let sampling = SamplingConfig {
        fanouts: fanouts(2, &[]).remove(0),
        replace: false,
        edge_probability: None,
        batch_size: 1,
        sampler_threads: 0,
        reduce: GradientReduce::Mean,
        optimized_batches: false,
        log_every: None,
    };
    let link = LinkConfig {
        score: PairScore::Dot,
        negatives: 1,
        target_etype: None,
        reverse_etype: None,
        added_loops: false,
        split: splits().remove(0),
    };
    let model = &base.model;
    let relations = Relations { merge: RelationMerge::Sum, target: None };
    vary!(
        base,
        RunConfig {
            part_json: [PathBuf::from("g.json")],
            keys: vary!(
                base.keys,
                DataKeys {
                    features: texts(),
                    labels: texts(),
                    train_mask: texts(),
                    val_mask: texts(),
                    test_mask: texts(),
                    edge_weight: texts(),
                    edge_features: texts(),
                }
            ),
            normalize_features: all::<Normalize>(),
            task: all::<Task>(),
            class_weights: class_weights(3),
            model: vary!(
                model,
                ModelConfig {
                    kind: kinds().into_iter().flat_map(settings),
                    layers: [1, 100],
                    hidden: [1, i64::MAX],
                    dropout: [0.0, 1.0 / 3.0],
                    norm: all::<NormKind>(),
                    jumping_knowledge: all::<JumpMode>(),
                    residual: [true],
                }
            ),
            relations: vary!(
                relations,
                Relations {
                    merge: all::<RelationMerge>(),
                    target: [
                        Some(TargetTypes::new(["paper"])),
                        Some(TargetTypes::new(["author", "paper"]))
                    ]
                }
            )
            .into_iter()
            .map(Some),
            policy: [Policy::Retain],
            mfg: [true],
            one_shot: [true],
            optimizer: optimizers(),
            schedule: schedules(),
            clip_norm: [Some(f64::MIN_POSITIVE)],
            patience: [Some(u32::MAX)],
            evaluation: vary!(
                base.evaluation,
                EvaluationConfig {
                    every: [Some(2)],
                    fanouts: fanouts(2, &["a:b:c", "d"]).into_iter().map(Some),
                    keep: all::<Keep>().into_iter().map(Some),
                    metrics: [vec![ExtraMetric::RocAuc]],
                }
            ),
            on_nan: all::<OnNan>(),
            checkpoint_every: [Some(3)],
            epochs: [u32::MAX],
            sampling: vary!(
                sampling,
                SamplingConfig {
                    fanouts: fanouts(2, &["a:b:c", "d"]),
                    replace: [true],
                    edge_probability: texts(),
                    batch_size: [1 << 40],
                    sampler_threads: [3],
                    reduce: all::<GradientReduce>(),
                    optimized_batches: [true],
                    log_every: [Some(u32::MAX)],
                }
            )
            .into_iter()
            .map(Some),
            link: vary!(
                link,
                LinkConfig {
                    score: all::<PairScore>(),
                    negatives: [9],
                    target_etype: texts(),
                    reverse_etype: texts(),
                    added_loops: [true],
                    split: splits(),
                }
            )
            .into_iter()
            .map(Some),
            seed: [u64::MAX],
            init: all::<InitStyle>(),
            init_params: paths(),
            resident: [Some(1)],
            threads: [64],
            memory_budget: [MemoryBudget::Min, MemoryBudget::Bytes(u64::MAX)],
            spill_dtype: all::<SpillDtype>(),
            compute_dtype: all::<ComputeDtype>(),
            io: all::<IoMode>(),
            dump_step: paths(),
            tensorboard: paths(),
            // The file does not hold these.
            trace: [None, None],
            partitions: [None],
            out: paths().map(Option::unwrap_or_default),
            spill_dir: paths().map(Option::unwrap_or_default),
        }
    )
}

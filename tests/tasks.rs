//! Losses, metrics and schedules compared with PyTorch's and scikit-learn's numbers (tests/fixtures/tasks.py), for any number
//! of ranks and threads.
#![cfg(feature = "torch")]
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::HashMap;

use sar::Result;
use sar::engine::spill::Masks;
use sar::engine::tape::{Constants, Graph, ParameterBuilder, Policy, Tape, Var};
use sar::event::{Evaluation, Metric};
use sar::nn::{
    LearningRate, Loss, Model, Schedule, ScoreSums, Task, ValidationScore, clip_grad_norm,
};
use sar::testing::{RankContext, on_ranks};
use sar::train::{GraphModel, Totals, Trainer};
use tch::{Kind, Tensor};

type Tensors = HashMap<String, Tensor>;

fn fixture(name: &str) -> Tensors {
    let path = common::repository("tests/fixtures/tasks").join(format!("{name}.safetensors"));
    Tensor::read_safetensors(path).unwrap().into_iter().collect()
}

fn number(tensor: &Tensor) -> f64 {
    tensor.double_value(&[0])
}

fn assert_close(what: &str, ours: &Tensor, expected: &Tensor, tolerance: f64) {
    assert_eq!(ours.size(), expected.size(), "{what}");
    let difference = (ours.to_kind(Kind::Double) - expected.to_kind(Kind::Double)).abs().max();
    let difference = difference.double_value(&[]);
    assert!(difference <= tolerance, "{what}: differs by {difference}");
}

fn cases() -> [(Task, &'static str); 4] {
    [
        (Task::Classification, "classification_5"),
        (Task::Classification, "classification_2"),
        (Task::Multilabel, "multilabel"),
        (Task::Regression, "regression"),
    ]
}

#[test]
fn losses_and_gradients_are_pytorchs() {
    for (task, name) in cases() {
        let data = fixture(name);
        for (prefix, weighted) in [("", false), ("weighted_", true)] {
            let loss = match (weighted, data.get("weights")) {
                (false, _) => Loss::new(task),
                (true, None) => continue,
                (true, Some(weights)) => {
                    Loss::weighted(task, &Vec::<f64>::try_from(weights).unwrap()).unwrap()
                }
            };
            for (kind, tolerance) in [(Kind::Double, 1e-13), (Kind::Float, 1e-6)] {
                let (labels, mask) = (&data["labels"], data["train"].to_kind(Kind::Bool));
                let logits = data["logits"].to_kind(kind);
                let divisor = loss.divisor(labels, &mask).unwrap();
                let (value, gradient) = loss.forward(&logits, labels, &mask, divisor).unwrap();
                let value = Tensor::from_slice(&[value]);
                let what = format!("{name} {prefix} {kind:?}");
                assert_close(&what, &value, &data[&format!("{prefix}loss")], tolerance);
                assert_close(&what, &gradient, &data[&format!("{prefix}grad")], tolerance);
                assert_eq!(gradient.kind(), kind);
            }
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    for (task, name) in cases() {
        let data = fixture(name);
        let (logits, labels) = (data["logits"].tile([5, 1]), &data["labels"]);
        let labels = if labels.dim() == 1 { labels.tile([5]) } else { labels.tile([5, 1]) };
        let mask = data["train"].to_kind(Kind::Bool).tile([5]);
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let (value, gradient) = {
                let inputs = (logits.shallow_clone(), labels.shallow_clone(), mask.shallow_clone());
                pool.scope(move |_| {
                    let (logits, labels, mask) = inputs;
                    Loss::new(task).forward(&logits, &labels, &mask, 7.0).unwrap()
                })
            };
            (value.to_bits(), Vec::<f32>::try_from(gradient.flatten(0, 1)).unwrap())
        };
        assert_eq!(on(1), on(4), "{name}");
    }
}

/// Logits that are the features.
struct Fixed;

impl Model for Fixed {
    fn forward<'a>(&self, _: &mut Tape<'a>, _: &[&'a dyn Graph], x: Var) -> Result<Var> {
        Ok(x)
    }
}

/// The evaluation of nodes spread over ranks that begin at these rows.
fn evaluate(task: Task, data: &(dyn Fn() -> Tensors + Sync), boundaries: &[i64]) -> Evaluation {
    let work = |context: RankContext| -> Result<Evaluation> {
        let data = data();
        let RankContext { rank, group, manager } = context;
        let (start, len) = (boundaries[rank], boundaries[rank + 1] - boundaries[rank]);
        let own = |name: &str| data[name].narrow(0, start, len).contiguous();
        let track = |name: &str, value| manager.track(name, value);
        let mask = |name: &str| track(name, own(name).to_kind(Kind::Bool));
        let masks = Masks { train: mask("train"), val: mask("val"), test: mask("test") };
        let loss = Loss::new(task);
        let count = |name: &str| data[name].sum(Kind::Int64).int64_value(&[]);
        let divisor = loss.divisor(&data["labels"], &data["train"].to_kind(Kind::Bool))?;
        let parameters = ParameterBuilder::new(0).finish(&manager, Kind::Float)?;
        let features = track("features", own("logits"));
        let forward = GraphModel { model: &Fixed, graphs: Vec::new(), features };
        Trainer {
            manager: &manager,
            group: &*group,
            forward: &forward,
            labels: track("labels", own("labels")),
            masks,
            parameters: &parameters.into(),
            loss,
            divisor,
            outputs: data["logits"].size()[1],
            totals: Totals { train: count("train"), val: count("val"), test: count("test") },
            roc_auc: true,
            seed: 0,
            policy: Policy::default(),
            constants: Constants::default(),
        }
        .evaluate(3)
    };
    let mut all = on_ranks(boundaries.len() - 1, 1, work).unwrap();
    for evaluation in &mut all {
        evaluation.seconds = 0.0;
    }
    let first = all.remove(0);
    // As text, in which NaN is NaN.
    let text = format!("{first:?}");
    assert!(all.iter().all(|other| format!("{other:?}") == text), "ranks differ");
    first
}

#[test]
fn metrics_are_scikit_learns_for_any_partitioning() {
    for (task, name) in cases() {
        let data = fixture(name);
        for boundaries in [&[0, 1100][..], &[0, 400, 400, 401, 1100]] {
            let evaluation = evaluate(task, &|| fixture(name), boundaries);
            assert_eq!(evaluation.epoch, 3);
            assert!((evaluation.loss - number(&data["loss"])).abs() < 1e-6);
            let mut compared = 0;
            for scores in &evaluation.scores {
                for (mask, value) in scores.named() {
                    let key = format!("{mask}.{}", scores.metric.key());
                    let (value, expected) = (value.unwrap(), number(&data[&key]));
                    assert!((value - expected).abs() < 1e-12, "{name} {key}: {value}, {expected}");
                    compared += 1;
                }
            }
            let all = data.keys().filter(|key| key.contains('.') && !key.ends_with("confusion"));
            assert_eq!(compared, all.count(), "{name}");
            let Some(confusion) = &evaluation.confusion else {
                assert_eq!(task, Task::Regression);
                continue;
            };
            for (mask, rows) in confusion.named() {
                let flat: Vec<i64> = rows.iter().flatten().map(|n| *n as i64).collect();
                let rows = Tensor::from_slice(&flat).reshape([rows.len() as i64, -1]);
                assert_eq!(rows, data[&format!("{mask}.confusion")], "{name} {mask}");
            }
        }
    }
}

#[test]
fn logits_that_are_nan_have_no_area_and_predict_nothing() {
    for (task, name) in cases().into_iter().filter(|(task, _)| task.has_classes()) {
        for boundaries in [&[0, 1100][..], &[0, 400, 1100]] {
            let all_nan = || {
                let mut data = fixture(name);
                let logits = data["logits"].full_like(f64::NAN);
                data.insert("logits".to_owned(), logits);
                data
            };
            let evaluation = evaluate(task, &all_nan, boundaries);
            assert!(evaluation.loss.is_nan(), "{name}");
            for scores in &evaluation.scores {
                for (mask, value) in scores.named() {
                    let value = value.unwrap();
                    let what = format!("{name} {mask} {:?}: {value}", scores.metric);
                    match scores.metric {
                        Metric::RocAuc => assert!(value.is_nan(), "{what}"),
                        _ => assert!(value.abs() < f64::EPSILON, "{what}"),
                    }
                }
            }
        }
    }
}

#[test]
fn scores_take_rows_of_the_mask_only() {
    let logits = Tensor::from_slice2(&[[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]]);
    let labels = Tensor::from_slice(&[1_i64, 1, -1]);
    let accuracy = |mask: [bool; 3]| {
        let mask = Tensor::from_slice(&mask);
        let nodes = mask.sum(Kind::Int64).int64_value(&[]);
        let sums = ScoreSums::new(Task::Classification, &logits, &labels, &mask).unwrap();
        sums.score(Task::Classification, nodes, 2)
    };
    assert_eq!(accuracy([true, true, false]), Some(0.5));
    assert_eq!(accuracy([true, false, false]), Some(1.0));
    assert_eq!(accuracy([false; 3]), None);
}

fn rates(schedule: Schedule, validation: Option<(&Tensor, bool)>) -> Tensor {
    let mut rate = LearningRate::new(0.05, schedule).unwrap();
    let rates = (0..60).map(|epoch| {
        let now = rate.current();
        let validation = validation.map(|(values, more_is_better)| ValidationScore {
            value: values.double_value(&[epoch]),
            more_is_better,
        });
        rate.step(schedule, validation);
        now
    });
    Tensor::from_slice(&rates.collect::<Vec<_>>())
}

#[test]
fn learning_rates_are_pytorchs() {
    let data = fixture("schedules");
    let step = Schedule::Step { step_size: 7, gamma: 0.3 };
    assert_close("step", &rates(step, None), &data["step"], 1e-15);
    let cosine = Schedule::Cosine { t_max: 25, min: 0.001 };
    assert_close("cosine", &rates(cosine, None), &data["cosine"], 1e-15);
    let plateau = Schedule::Plateau { factor: 0.5, patience: 3, min: 0.002 };
    let values = &data["values"];
    assert_close("max", &rates(plateau, Some((values, true))), &data["plateau_max"], 1e-15);
    let falling: Tensor = 1.2 - values;
    assert_close("min", &rates(plateau, Some((&falling, false))), &data["plateau_min"], 1e-15);
    assert!(data["plateau_max"].double_value(&[59]) < 0.05 / 3.0, "it was reduced twice");
}

#[test]
fn gradients_are_clipped_as_pytorch_does() {
    let data = fixture("schedules");
    for norm in [0.5, 100.0] {
        let clipped = clip_grad_norm(&data["gradient"], norm).unwrap();
        assert_close("clipped", &clipped, &data[&format!("clipped_{norm:?}")], 1e-15);
    }
}

//! Training curves of all tasks and regimes against PyTorch's, in double precision (tests/fixtures/karate_tasks.py).
#![cfg(feature = "torch")]
#![allow(clippy::unwrap_used)]

mod common;
#[allow(dead_code)]
#[path = "common/karate.rs"]
mod karate;
#[path = "common/program.rs"]
mod program;

fn check_curves(names: &[&str]) {
    for name in names {
        karate::check_curve("karate_tasks", name);
    }
}

#[test]
fn several_classes_per_node_are_learned_as_in_pytorch() {
    check_curves(&["multilabel", "balanced"]);
}

#[test]
fn numbers_are_learned_as_in_pytorch() {
    check_curves(&["regression", "regression_of_one_number"]);
}

#[test]
fn class_weights_are_pytorchs() {
    check_curves(&["class_weights"]);
}

#[test]
fn clipping_and_schedules_are_pytorchs() {
    check_curves(&["clip", "step", "cosine"]);
}

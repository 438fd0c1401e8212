//! DGL's numbers on DGL's own partition: logits, loss, every gradient and optimizer curves of the built binary against
//! what DGL computes in double precision on the whole graph (tests/fixtures/karate_steps.py).
#![allow(clippy::unwrap_used)]

mod common;
#[path = "common/karate.rs"]
mod karate;

use karate::{assert_close, case, check_curve, run, tensors};

/// The folder in tests/fixtures.
const STEPS: &str = "karate_steps";

fn check_step(name: &str) {
    let case = case(STEPS, name);
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("step.safetensors");
    run(&case, folder.path(), &["--dump-step", dump.to_str().unwrap()]);
    let ours = tensors(&std::fs::read(dump).unwrap());
    for (key, (shape, expected)) in &case.tensors {
        if !key.starts_with("param.") {
            let (our_shape, values) = &ours[key];
            assert_eq!(our_shape, shape, "{name} {key}");
            assert_close(&format!("{name} {key}"), values, expected);
        }
    }
}

#[test]
fn graph_sage_gives_dgls_logits_loss_and_gradients() {
    for name in ["sage_mean", "sage_gcn", "sage_pool", "sage_mean_weighted", "sage_gcn_weighted"] {
        check_step(name);
    }
}

#[test]
fn graph_convolution_gives_dgls_logits_loss_and_gradients() {
    for norm in ["both", "left", "right", "none"] {
        check_step(&format!("gcn_{norm}"));
        check_step(&format!("gcn_{norm}_weighted"));
    }
}

#[test]
fn optimizers_follow_pytorchs_update_rules() {
    for name in ["sgd", "adam", "adamw"] {
        check_curve(STEPS, name);
    }
}

//! DGL's numbers on DGL's own partition: logits, loss, every gradient and optimizer curves of the built binary against
//! what DGL computes in double precision on the whole graph (tests/fixtures/karate_steps.py).
#![allow(clippy::unwrap_used)]

mod common;
#[path = "common/karate.rs"]
mod karate;

use karate::{check_curve, check_step};

/// The folder in tests/fixtures.
const STEPS: &str = "karate_steps";

#[test]
fn graph_sage_gives_dgls_logits_loss_and_gradients() {
    for name in ["sage_mean", "sage_gcn", "sage_pool", "sage_mean_weighted", "sage_gcn_weighted"] {
        check_step(STEPS, name);
    }
}

#[test]
fn graph_convolution_gives_dgls_logits_loss_and_gradients() {
    for norm in ["both", "left", "right", "none"] {
        check_step(STEPS, &format!("gcn_{norm}"));
        check_step(STEPS, &format!("gcn_{norm}_weighted"));
    }
}

#[test]
fn optimizers_follow_pytorchs_update_rules() {
    for name in ["sgd", "adam", "adamw"] {
        check_curve(STEPS, name);
    }
}

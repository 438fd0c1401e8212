//! DGL's and PyTorch's numbers for models that are more than a stack of layers: logits, loss and gradients of a step, training
//! curves with their final state, and Correct & Smooth (tests/fixtures/karate_models.py).
#![cfg(feature = "torch")]
#![allow(clippy::unwrap_used)]

mod common;
#[path = "common/karate.rs"]
mod karate;
#[path = "common/program.rs"]
mod program;

use common::metrics;
use karate::{assert_close, case, check_correct_and_smooth, check_curve, check_step, run, tensors};

const MODELS: &str = "karate_models";

#[test]
fn norms_residuals_and_jumping_knowledge_give_the_same_step() {
    for name in ["batch_norm", "layer_norm", "residual", "jk_cat", "everything", "gat_everything"] {
        check_step(MODELS, name);
    }
}

#[test]
fn propagating_models_give_the_same_step() {
    for name in ["appnp", "appnp_weighted", "sgc", "sgc_weighted", "sign", "sign_weighted"] {
        check_step(MODELS, name);
    }
}

#[test]
fn layers_of_several_steps_give_the_same_step() {
    for name in ["tag", "tag_wide", "tag_weighted"] {
        check_step(MODELS, name);
    }
}

#[test]
fn layers_that_return_to_the_initial_rows_give_the_same_step() {
    for name in ["gcn2", "gcn2_initial_weight", "gcn2_weighted"] {
        check_step(MODELS, name);
    }
}

/// DGL's EGATConv, and PyTorch Geometric's GATv2Conv (tests/fixtures/edge_models.py).
#[test]
fn layers_that_take_edge_features_give_the_same_step() {
    for name in ["egat", "gatv2"] {
        check_step("edge_models", name);
    }
}

#[test]
fn training_ends_in_the_same_state_running_statistics_included() {
    for name in ["batch_norm_curve", "sgc_curve"] {
        check_curve(MODELS, name);
        let case = case(MODELS, name);
        let folder = tempfile::tempdir().unwrap();
        run(&case, folder.path(), &[]);
        let state = std::fs::read(folder.path().join("run/model.safetensors")).unwrap();
        let ours = tensors(&state);
        let last = |(key, value): (&String, &(Vec<i64>, Vec<f64>))| {
            Some((key.strip_prefix("final.")?.to_owned(), value.clone()))
        };
        let expected: Vec<_> = case.tensors.iter().filter_map(last).collect();
        assert_eq!(ours.len(), expected.len(), "{name}");
        for (key, (shape, values)) in expected {
            assert_eq!(ours[&key].0, shape, "{name} {key}");
            assert_close(&format!("{name} {key}"), &ours[&key].1, &values);
        }
        let last = metrics(&folder.path().join("run")).pop().unwrap();
        let loss = last["loss"].as_f64().unwrap();
        assert_close(name, &[loss], &case.tensors["evaluation"].1);
    }
}

#[test]
fn correct_and_smooth_gives_the_scores_of_dgls_example() {
    check_correct_and_smooth(MODELS);
}

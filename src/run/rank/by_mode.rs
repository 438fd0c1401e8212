//! A rank's training, by the mode of its run.

use std::path::Path;

use super::assignment::Assignment;
use super::hetero_graph::RankHeteroGraph;
use super::link_training::LinkTraining;
use super::node_model::NodeModel;
use super::setup::{Passes, RankSetup, Surroundings};
use super::whole_graph::WholeGraph;
use crate::load::GraphFingerprint;
use crate::run::config::{Layers, Mode, RunConfig};
use crate::train::SamplingConfig;
use crate::words::error::Result;

/// Runs a rank's part of training, from a checkpoint on if the run is resumed. Checkpoints name the graph if they can.
///
/// # Errors
/// If options exclude each other (`Config`), a file is wrong (`Input`), or the training fails.
pub fn train(
    here: Surroundings<'_>,
    config: &RunConfig,
    graph: Option<&GraphFingerprint>,
    resumed: Option<&Path>,
) -> Result<()> {
    let assignment = Assignment { here, config, graph, resumed };
    let mode = Mode::of(config)?;
    let passes = if config.sampling.is_some() { Passes::Batches } else { Passes::WholeGraph };
    let setup = RankSetup::new(here, passes)?;
    match mode {
        Mode::FullGraph(layers) => train_on_nodes(&setup, assignment, layers, None)?,
        Mode::Sampled(sampling, layers) => {
            train_on_nodes(&setup, assignment, layers, Some(sampling))?;
        }
        Mode::Links(link, sampling, layers) => {
            LinkTraining { setup: &setup, assignment, link, sampling }.train(layers)?;
        }
    }
    setup.end()
}

/// Trains for a node-level task, with steps over all nodes or on batches. Evaluations are on the full graph.
fn train_on_nodes(
    setup: &RankSetup,
    assignment: Assignment<'_>,
    layers: Layers<'_>,
    sampling: Option<&SamplingConfig>,
) -> Result<()> {
    let config = assignment.config;
    match layers {
        Layers::Shared(pass) => {
            let whole = WholeGraph::new(setup, config, None)?;
            NodeModel::new(setup, assignment, whole)?.train(pass, sampling)
        }
        Layers::PerRelation(relations, pass) => {
            let hetero = RankHeteroGraph::new(setup, config, relations, None)?;
            NodeModel::new(setup, assignment, hetero)?.train(pass, sampling)
        }
    }
}

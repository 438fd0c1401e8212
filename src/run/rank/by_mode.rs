//! A rank's training, by the mode of its run.

use std::path::Path;

use super::assignment::Assignment;
use super::setup::Surroundings;
use super::{full_graph, linked_relations, links, relations, sampled, sampled_relations};
use crate::error::Result;
use crate::load::GraphFingerprint;
use crate::run::config::{Layers, Mode, RunConfig};

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
    match Mode::of(config)? {
        Mode::FullGraph(Layers::Shared(pass)) => full_graph::train(assignment, pass),
        Mode::FullGraph(Layers::PerRelation(relations, pass)) => {
            relations::train(assignment, relations, pass)
        }
        Mode::Sampled(sampling, Layers::Shared(pass)) => sampled::train(assignment, sampling, pass),
        Mode::Sampled(sampling, Layers::PerRelation(relations, pass)) => {
            sampled_relations::train(assignment, sampling, relations, pass)
        }
        Mode::Links(link, sampling, Layers::Shared(_)) => links::train(assignment, link, sampling),
        Mode::Links(link, sampling, Layers::PerRelation(relations, _)) => {
            linked_relations::train(assignment, link, sampling, relations)
        }
    }
}

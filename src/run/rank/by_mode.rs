//! A rank's training, by the mode of its run.

use std::path::Path;

use super::assignment::Assignment;
use super::link_training::LinkTraining;
use super::setup::{Passes, RankSetup, Surroundings};
use super::shared_layers::SharedLayers;
use super::{linked_relations, links, relations, sampled, sampled_relations};
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
    let mode = Mode::of(config)?;
    let passes = if config.sampling.is_some() { Passes::Batches } else { Passes::WholeGraph };
    let setup = RankSetup::new(here, passes)?;
    match mode {
        Mode::FullGraph(Layers::Shared(pass)) => {
            SharedLayers::new(&setup, assignment)?.run(assignment, pass, None)?;
        }
        Mode::FullGraph(Layers::PerRelation(relations, pass)) => {
            relations::train(&setup, assignment, relations, pass)?;
        }
        Mode::Sampled(sampling, Layers::Shared(pass)) => {
            sampled::train(&setup, assignment, sampling, pass)?;
        }
        Mode::Sampled(sampling, Layers::PerRelation(relations, pass)) => {
            sampled_relations::train(&setup, assignment, sampling, relations, pass)?;
        }
        Mode::Links(link, sampling, layers) => {
            let training = LinkTraining { setup: &setup, assignment, link, sampling };
            match layers {
                Layers::Shared(_) => links::train(training)?,
                Layers::PerRelation(relations, _) => linked_relations::train(training, relations)?,
            }
        }
    }
    setup.end()
}

//! The options of training that predicts edges.

use serde::{Deserialize, Serialize};

use super::run_config::RunConfig;
use crate::engine::tape::ParameterBuilder;
use crate::error::{Error, Result};
use crate::load::EdgeSplit;
use crate::nn::LinkScore;

/// How the rows of two nodes are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum PairScore {
    /// <h_u, h_v>
    #[default]
    Dot,
    /// <h_u W, h_v>, with a learned matrix
    Bilinear,
}

/// Configuration of training that predicts edges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkConfig {
    /// How the rows of two nodes are compared.
    pub score: PairScore,
    /// Number of negative pairs that are drawn for each edge: its source with random nodes of the destination's type.
    pub negatives: usize,
    /// The split of edges into those that are trained on and those that are predicted.
    pub split: EdgeSplit,
}

impl LinkConfig {
    /// The score of rows of width `width`; its parameters follow the model's.
    pub(in crate::run) fn score(&self, builder: &mut ParameterBuilder, width: i64) -> LinkScore {
        match self.score {
            PairScore::Dot => LinkScore::Dot,
            PairScore::Bilinear => {
                builder.scope("score", |builder| LinkScore::bilinear(builder, width))
            }
        }
    }

    /// Checks that a run can predict edges.
    ///
    /// # Errors
    /// If a necessary option is missing, or an option is not supported.
    pub fn check(&self, config: &RunConfig) -> Result<()> {
        self.split.check()?;
        let given = [
            ("--class-weights", config.class_weights.is_some(), "edges have no classes"),
            ("--label-key", config.keys.labels.is_some(), "edges have no labels"),
            ("--hetero", config.relations.is_some(), "is for models of nodes"),
            ("--mfg", config.mfg, "is for training on the full graph"),
            ("--one-shot", config.one_shot, "is for training on the full graph"),
            ("--dump-step", config.dump_step.is_some(), "is for models of nodes"),
            (
                "--edge-prob",
                config.sampling.as_ref().is_some_and(|s| s.edge_probability.is_some()),
                "held-out edges have probability 0, the others are drawn uniformly",
            ),
        ];
        for (flag, given, problem) in given {
            if given {
                return Err(Error::config(flag, problem).with_hint("leave it out with --task link"));
            }
        }
        if config.sampling.is_none() {
            return Err(Error::config("--task link", "is trained on sampled neighbourhoods")
                .with_hint("add --mode sample"));
        }
        if self.negatives == 0 {
            return Err(Error::config("--negatives", "must be 1 or more"));
        }
        Ok(())
    }
}

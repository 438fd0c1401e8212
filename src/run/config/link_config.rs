//! The options of training that predicts edges.

use serde::{Deserialize, Serialize};

use crate::choice::{Choice, Named};
use crate::engine::tape::ParameterBuilder;
use crate::load::EdgeSplit;
use crate::nn::LinkScore;

/// How the rows of two nodes are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PairScore {
    /// <h_u, h_v>
    #[default]
    Dot,
    /// <h_u W, h_v>, with a learned matrix
    Bilinear,
}

impl Choice for PairScore {
    const VALUES: &'static [Named<Self>] = &[
        Named::new(PairScore::Dot, "dot", "<h_u, h_v>"),
        Named::new(PairScore::Bilinear, "bilinear", "<h_u W, h_v>, with a learned matrix"),
    ];
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
}

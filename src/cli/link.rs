//! Flags of training that predicts edges.

use clap::{Args, ValueEnum};

use crate::error::{Error, Result};
use crate::load::EdgeSplit;
use crate::nn;
use crate::run::config::{LinkConfig, PairScore};

/// What is learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Task {
    /// One class per node: cross entropy of labels `int64 [n]`
    #[default]
    Classification,
    /// Any number of classes per node: binary cross entropy of labels `[n, classes]`, 0 or 1
    Multilabel,
    /// Numbers: mean squared error to labels `[n]` or `[n, outputs]`
    Regression,
    /// Edges between nodes: binary cross entropy of scores of edges and of random pairs; with --mode sample
    Link,
}

/// Flags of training that predicts edges.
#[derive(Debug, Args)]
pub(super) struct LinkArgs {
    /// How two nodes are compared, with --task link [default: dot]
    #[arg(long, value_enum, help_heading = "Training")]
    score: Option<PairScore>,
    /// Random pairs drawn for each edge, with --task link: its source with any node [default: 5]
    #[arg(long, value_name = "K", help_heading = "Training")]
    negatives: Option<usize>,
    /// Fraction of edges kept for validation, with --task link [default: 0.05]
    #[arg(long, value_name = "SHARE", help_heading = "Training")]
    val_fraction: Option<f64>,
    /// Fraction of edges kept for the test, with --task link [default: 0.1]
    #[arg(long, value_name = "SHARE", help_heading = "Training")]
    test_fraction: Option<f64>,
}

/// The keys of the training, validation and test masks.
pub(super) type MaskKeys = [Option<String>; 3];

impl LinkArgs {
    /// The configuration of training on nodes, or on edges. With --task link the masks are edge features.
    ///
    /// # Errors
    /// If flags of edges are passed with nodes, or masks together with fractions.
    pub(super) fn config(
        self,
        task: Task,
        [train, val, test]: MaskKeys,
    ) -> Result<(nn::Task, Option<LinkConfig>)> {
        let LinkArgs { score, negatives, val_fraction, test_fraction } = self;
        let shares = [("--val-fraction", val_fraction), ("--test-fraction", test_fraction)];
        let share = shares.iter().find(|(_, share)| share.is_some()).map(|(flag, _)| *flag);
        let task = match task {
            Task::Classification => nn::Task::Classification,
            Task::Multilabel => nn::Task::Multilabel,
            Task::Regression => nn::Task::Regression,
            Task::Link => {
                let split = match (train, share) {
                    (Some(_), Some(flag)) => {
                        let problem = "edges are split by masks or at random, not both";
                        return Err(Error::config(flag, problem)
                            .with_hint("leave it out, or --train-mask-key"));
                    }
                    (Some(train), None) => EdgeSplit::Masks { train, val, test },
                    (None, _) if val.is_some() || test.is_some() => {
                        return Err(Error::config(
                            "--train-mask-key",
                            "is missing, but another mask is given",
                        )
                        .with_hint("also name the edge feature that marks training edges"));
                    }
                    (None, _) => EdgeSplit::Fractions {
                        val: val_fraction.unwrap_or(0.05),
                        test: test_fraction.unwrap_or(0.1),
                    },
                };
                let (score, negatives) = (score.unwrap_or_default(), negatives.unwrap_or(5));
                let link = LinkConfig { score, negatives, split };
                return Ok((nn::Task::default(), Some(link)));
            }
        };
        let given = [("--score", score.is_some()), ("--negatives", negatives.is_some())];
        let given = given.iter().find(|(_, given)| *given).map(|(flag, _)| *flag).or(share);
        match given {
            Some(flag) => {
                Err(Error::config(flag, "is for predicting edges").with_hint("add --task link"))
            }
            None => Ok((task, None)),
        }
    }
}

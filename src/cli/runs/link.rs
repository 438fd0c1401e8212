//! Flags of edge prediction.

use clap::ValueEnum;

use super::setting::settings;
use super::settings::Settings;
use crate::cli::flags::choice::choice;
use crate::load::EdgeSplit;
use crate::nn;
use crate::run::config::{LinkConfig, PairScore};
use crate::words::error::{Error, Result};

/// The task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(in crate::cli) enum TaskArg {
    /// One class per node: cross entropy of labels `int64 [n]`
    #[default]
    Classification,
    /// Any number of classes per node: binary cross entropy of labels `[n, classes]`, 0 or 1
    Multilabel,
    /// Numbers: mean squared error to labels `[n]` or `[n, outputs]`
    Regression,
    /// Edges between nodes: binary cross entropy of scores of edges and of random pairs; implies --mode sample
    Link,
}

settings! {
    /// Flags of training that predicts edges.
    pub(in crate::cli) struct LinkArgs, fields "link." of LinkConfig {
        /// How two nodes are compared, with --task link [default: dot]
        #[arg(long, value_parser = choice::<PairScore>(), help_heading = "Training")]
        score: Option<PairScore> => score; Links,
        /// Edge type whose edges are predicted, with --task link: a name, or SRC:NAME:DST; pairs are drawn of its node types [default:
        /// all edge types]
        #[arg(long, value_name = "TYPE", help_heading = "Training")]
        target_etype: Option<String> => target_etype; Links,
        /// Edge type with the reverses of the predicted edges, which are kept back with them [default: rev_NAME]
        #[arg(long, value_name = "TYPE", help_heading = "Training")]
        reverse_etype: Option<String> => reverse_etype; Links,
        /// Random pairs drawn for each edge, with --task link: its source with any node [default: 5]
        #[arg(long, value_name = "K", help_heading = "Training")]
        negatives: Option<usize> => negatives; Links,
        /// Shares of edges kept for validation and for the test, with --task link, such as val=5%,test=0.1 [default: the edges of
        /// val_mask and test_mask, if the graph has a train_mask of edges; otherwise val=5%,test=10%]
        #[arg(long, value_name = "val=SHARE,test=SHARE", value_parser = shares, help_heading = "Training")]
        split: Option<Shares>; Links,
    }
}

/// Shares of edges.
#[derive(Debug, Clone, Copy)]
struct Shares {
    val: f64,
    test: f64,
}

/// Parses `val=SHARE,test=SHARE`; either may be missing.
fn shares(text: &str) -> std::result::Result<Shares, String> {
    let settings = Settings::parse(text, &["val", "test"])?;
    let share = |name: &str, usual: f64| {
        let Some(text) = settings.get::<String>(name)? else { return Ok(usual) };
        let (number, unit) = text.strip_suffix('%').map_or((&*text, 1.0), |text| (text, 100.0));
        let number: f64 =
            number.trim().parse().map_err(|_| format!("{name} cannot be {text:?}"))?;
        Ok::<_, String>(number / unit)
    };
    Ok(Shares { val: share("val", 0.05)?, test: share("test", 0.1)? })
}

/// Keys of the training, validation and test masks.
pub(in crate::cli) type MaskKeys = [Option<String>; 3];

impl LinkArgs {
    /// The configuration of training on nodes, or on edges. With `--task link`, masks are edge features.
    pub(in crate::cli) fn config(
        &self,
        task: TaskArg,
        masks: MaskKeys,
    ) -> Result<(nn::Task, Option<LinkConfig>)> {
        Ok(match task {
            TaskArg::Classification => (nn::Task::Classification, None),
            TaskArg::Multilabel => (nn::Task::Multilabel, None),
            TaskArg::Regression => (nn::Task::Regression, None),
            TaskArg::Link => {
                let split = self.split(masks)?;
                let score = PairScore::default();
                let (target_etype, reverse_etype) = (None, None);
                let mut link = LinkConfig {
                    score,
                    negatives: 5,
                    target_etype,
                    reverse_etype,
                    added_loops: false,
                    split,
                };
                self.set(&mut link)?;
                (nn::Task::default(), Some(link))
            }
        })
    }

    fn split(&self, [train, val, test]: MaskKeys) -> Result<EdgeSplit> {
        match train {
            Some(train) => Ok(EdgeSplit::Masks { train, val, test }),
            None if val.is_some() || test.is_some() => {
                Err(Error::config("keys.train_mask", "is missing, but another mask is given")
                    .with_hint("also name the edge feature that marks training edges"))
            }
            None => Ok(self.split.map_or(EdgeSplit::Usual, |Shares { val, test }| {
                EdgeSplit::Fractions { val, test }
            })),
        }
    }
}

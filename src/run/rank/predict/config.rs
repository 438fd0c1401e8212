//! The configuration of a prediction.

use std::path::PathBuf;

use super::form::{NodeOrder, Prediction, PredictionFormat};
use crate::choice::{Choice, Named};
use crate::error::{Error, Result};
use crate::graph::PartitionBook;
use crate::nn::CorrectAndSmooth;
use crate::run::config::RunConfig;
use crate::run::rank::WEIGHTS;

/// The field of the predicted node type.
const TARGET_TYPE: &str = "target_type";

/// A mask of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitName {
    /// The training nodes
    Train,
    /// The validation nodes
    Val,
    /// The test nodes
    Test,
}

impl Choice for SplitName {
    const VALUES: &'static [Named<Self>] = &[
        Named::new(SplitName::Train, "train", "The training nodes"),
        Named::new(SplitName::Val, "val", "The validation nodes"),
        Named::new(SplitName::Test, "test", "The test nodes"),
    ];
}

/// The nodes that are predicted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum NodeSelection {
    /// All nodes.
    #[default]
    All,
    /// The nodes that a file lists, one id or name per line; rows are in the order of the file.
    Listed(PathBuf),
    /// The nodes of a mask.
    Split(SplitName),
}

/// A question about pairs of nodes, to a run that predicts edges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkQuery {
    /// The scores of the pairs that a file lists, two ids or names on each line.
    Pairs(PathBuf),
    /// The best partners of nodes to which they have no edge yet.
    Partners {
        /// Number of partners of each node.
        count: usize,
        /// The file that lists the nodes; `None` means all nodes.
        of: Option<PathBuf>,
    },
}

/// A prediction for nodes of a partitioned graph.
#[derive(Debug, Clone)]
pub struct PredictConfig {
    /// The run that trained the model: its model, keys and folders are used.
    pub run: RunConfig,
    /// The trained weights.
    pub weights: PathBuf,
    /// The form of the prediction.
    pub prediction: Prediction,
    /// The node type, for a run that predicts several.
    pub target_type: Option<String>,
    /// The hidden layer, from 1, whose output is written, for [embeddings](Prediction::Embeddings); `None` means the last one.
    pub layer: Option<usize>,
    /// The nodes. Where they are not all, only what their predictions depend on is computed.
    pub nodes: NodeSelection,
    /// A question about pairs of nodes, whose answer is written in place of rows of nodes.
    pub links: Option<LinkQuery>,
    /// The order of rows, and the ids by which nodes are listed. `None` means original ids for lists and tables where the
    /// partitions have them, and otherwise the order of the partitions.
    pub order: Option<NodeOrder>,
    /// A correction of a classification's predictions by the labels of the training nodes. The output then holds scores from 0
    /// to 1 instead of logits.
    pub correct_and_smooth: Option<CorrectAndSmooth>,
    /// Path of the output.
    pub output: PathBuf,
    /// Format of the output; `None` means the one that its name calls for.
    pub format: Option<PredictionFormat>,
    /// The file for a trace of what all ranks do.
    pub trace: Option<PathBuf>,
}

impl PredictConfig {
    /// The classes that a run's weights predict, in the partitions' order.
    pub fn new(run: RunConfig, output: impl Into<PathBuf>) -> Self {
        PredictConfig {
            weights: run.out.join(WEIGHTS),
            prediction: Prediction::default(),
            target_type: None,
            layer: None,
            nodes: NodeSelection::default(),
            links: None,
            order: None,
            correct_and_smooth: None,
            output: output.into(),
            format: None,
            trace: None,
            run,
        }
    }

    /// The node types whose nodes are predicted, ascending: all, those whose pairs are scored, or one.
    ///
    /// # Errors
    /// If the graph lacks a type of the run, or it is not clear which one is predicted.
    pub(in crate::run) fn node_types(&self, book: &PartitionBook) -> Result<Vec<usize>> {
        let RunConfig { relations, link, .. } = &self.run;
        let trained = match (relations, link) {
            (None, _) => (0..book.ntypes().len()).collect(),
            (Some(_), Some(link)) => link.node_types(book)?,
            (Some(relations), None) => relations.target_types(book)?,
        };
        let names = || {
            let names: Vec<&str> = trained.iter().map(|ty| book.ntypes()[*ty].as_str()).collect();
            names.join(", ")
        };
        match (&self.target_type, relations) {
            (Some(_), None) => {
                Err(Error::config(TARGET_TYPE, "the run predicts nodes of all types")
                    .with_hint("leave it out"))
            }
            (Some(_), Some(_)) if link.is_some() => {
                Err(Error::config(TARGET_TYPE, "the run predicts edges").with_hint("leave it out"))
            }
            (Some(name), Some(_)) => {
                let ntype = trained.iter().find(|ntype| book.ntypes()[**ntype] == *name);
                let unknown = || {
                    let problem = format!("the run does not predict nodes of type {name:?}");
                    Error::config(TARGET_TYPE, problem)
                        .with_hint(format!("name one of {}", names()))
                };
                Ok(vec![*ntype.ok_or_else(unknown)?])
            }
            (None, Some(_)) if link.is_none() && trained.len() > 1 => {
                let problem =
                    format!("the run predicts nodes of types {}, a file holds one", names());
                let first = &book.ntypes()[trained[0]];
                Err(Error::config(TARGET_TYPE, problem)
                    .with_hint(format!("choose one, such as ‹{TARGET_TYPE}={first}›")))
            }
            (None, _) => Ok(trained),
        }
    }
}

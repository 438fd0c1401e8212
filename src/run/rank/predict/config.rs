//! The configuration of a prediction.

use std::path::PathBuf;

use super::form::{NodeOrder, Prediction, PredictionFormat, StoredForm};
use crate::formats::dgl::Partition;
use crate::formats::dgl::config::PartitionConfig;
use crate::load::labelled_types;
use crate::nn::CorrectAndSmooth;
use crate::prepare::import::OriginalIdsFile;
use crate::prepare::partition::GraphAdditions;
use crate::run::config::RunConfig;
use crate::run::rank::WEIGHTS;
use crate::words::choice::choices;
use crate::words::error::{Error, Result};

/// The field of the predicted node type.
const TARGET_TYPE: &str = "target_type";

choices! {
    /// A mask of nodes.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum SplitName {
        /// The training nodes
        Train = "train",
        /// The validation nodes
        Val = "val",
        /// The test nodes
        Test = "test",
        /// All nodes
        All = "all",
    }
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
    /// The nodes that are [added](PredictConfig::added).
    New,
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
        /// The file that lists the nodes, or the id or name of one; `None` means all nodes.
        of: Option<PathBuf>,
    },
    /// The filtered ranks of edges that were trained on, or kept back.
    Ranks(SplitName),
}

/// A prediction for nodes of a partitioned graph. [`new`](PredictConfig::new) makes one that can run.
#[derive(Debug, Clone, Default)]
pub struct PredictConfig {
    /// The run that trained the model: its model, keys and folders are used.
    pub run: RunConfig,
    /// The trained weights.
    pub weights: PathBuf,
    /// Nodes and edges that the graph gets for this prediction.
    pub added: GraphAdditions,
    /// Number of new nodes of each type at the end of the graph; empty without any.
    pub new_nodes: Vec<u64>,
    /// The form of the prediction.
    pub prediction: Prediction,
    /// The node type, for a run that predicts several.
    pub target_type: Option<String>,
    /// The hidden layer, from 1, whose output is written, for [embeddings](Prediction::Embeddings); `None` means the last one.
    pub layer: Option<usize>,
    /// The nodes. If they are not all, only values on which their predictions depend are computed.
    pub nodes: NodeSelection,
    /// A question about pairs of nodes, whose answer is written in place of rows of nodes.
    pub links: Option<LinkQuery>,
    /// The order of rows, and the ids by which nodes are listed. `None` means original ids where they are known, and otherwise those
    /// of the partitions.
    pub order: Option<NodeOrder>,
    /// Files of original ids, in place of those that the partitions have.
    pub orig_ids: Vec<OriginalIdsFile>,
    /// A correction of a classification's predictions by the labels of the training nodes. The output then holds scores from 0
    /// to 1 instead of logits.
    pub correct_and_smooth: Option<CorrectAndSmooth>,
    /// Path of the output; `-` is standard output.
    pub output: PathBuf,
    /// Whether existing files are replaced.
    pub overwrite: bool,
    /// Format of the output; `None` means the one that its name calls for.
    pub format: Option<PredictionFormat>,
    /// The file for a trace of all ranks.
    pub trace: Option<PathBuf>,
}

impl PredictConfig {
    /// The classes that a run's weights predict, in the original order where it is known.
    pub fn new(run: RunConfig, output: impl Into<PathBuf>) -> Self {
        PredictConfig {
            weights: run.out.join(WEIGHTS),
            output: output.into(),
            run,
            ..PredictConfig::default()
        }
    }

    /// Whether node types follow one another in the order of a prediction. A run that predicts edges of a homogeneous graph compares
    /// nodes by their homogeneous ids.
    pub(in crate::run) fn is_by_type(&self) -> bool {
        self.run.relations.is_some() || self.run.link.is_none()
    }

    /// The form in which rows are stored, if the model's output has `width` columns.
    pub(in crate::run) fn stored(&self, width: u64) -> StoredForm {
        let mut form = self.prediction.stored(self.run.task, width);
        if self.correct_and_smooth.is_some() && self.prediction == Prediction::Logits {
            form.name = "scores";
        }
        form
    }

    /// The hidden layer whose output is written; `None` for the model's output.
    pub(in crate::run) fn hidden_layer(&self) -> Result<Option<usize>> {
        let RunConfig { model, link, .. } = &self.run;
        // Pairs of nodes are scored by the model's output.
        let of_pairs = link.is_some() && self.layer.is_none();
        if self.prediction != Prediction::Embeddings || of_pairs {
            return Ok(None);
        }
        let (name, layers) = (model.kind.spec().name, model.num_hidden_layers());
        let layer = self.layer.unwrap_or(layers);
        if (1..=layers).contains(&layer) {
            return Ok(Some(layer));
        }
        let none = format!("the model ({name}) has no hidden layers");
        let (field, problem) = match (self.layer, layers) {
            (None, _) => {
                ("prediction", format!("embeddings are rows of a hidden layer, but {none}"))
            }
            (_, 0) => ("layer", none),
            _ => {
                let all = format!("the hidden layers of the model ({name}) are 1 to {layers}");
                ("layer", format!("is {layer}, but {all}"))
            }
        };
        let mut hint = "pass ‹prediction=logits› for the last layer's output".to_owned();
        if model.kind.spec().hidden_layers {
            hint += ", or train a model with more layers";
        }
        Err(Error::config(field, problem).with_hint(hint))
    }

    /// The node types whose nodes are predicted, ascending: those that the model was trained to predict, those whose pairs are scored,
    /// or one.
    pub(in crate::run) fn node_types(&self, partitions: &PartitionConfig) -> Result<Vec<usize>> {
        let book = partitions.book();
        let RunConfig { relations, link, keys, .. } = &self.run;
        let trained = match (relations, link) {
            (Some(_), Some(link)) => link.node_types(book)?,
            (Some(relations), None) => relations.target_types(book)?,
            (None, Some(_)) => (0..book.ntypes().len()).collect(),
            (None, None) => {
                let partition = Partition::open(partitions, partitions.first_present())?;
                let (labels, mask) = (keys.labels.as_deref(), keys.train_mask.as_deref());
                let labelled = labelled_types(&partition, labels, mask)?;
                // Without labels nothing shows which types the model was trained for.
                if labelled.is_empty() { (0..book.ntypes().len()).collect() } else { labelled }
            }
        };
        let names = || {
            let names: Vec<&str> = trained.iter().map(|ty| book.ntypes()[*ty].as_str()).collect();
            names.join(", ")
        };
        match &self.target_type {
            Some(_) if link.is_some() => {
                Err(Error::config(TARGET_TYPE, "the run predicts edges").with_hint("leave it out"))
            }
            Some(_) if book.ntypes().len() == 1 => {
                Err(Error::config(TARGET_TYPE, "the graph has one node type")
                    .with_hint("leave it out"))
            }
            Some(name) => {
                let ntype = trained.iter().find(|ntype| book.ntypes()[**ntype] == *name);
                let unknown = || {
                    let problem = format!("the run does not predict nodes of type {name:?}");
                    Error::config(TARGET_TYPE, problem)
                        .with_hint(format!("name one of {}", names()))
                };
                Ok(vec![*ntype.ok_or_else(unknown)?])
            }
            None if relations.is_some() && link.is_none() && trained.len() > 1 => {
                let problem = format!(
                    "the run predicts nodes of types {}, but a file holds the prediction of one type",
                    names()
                );
                let first = &book.ntypes()[trained[0]];
                Err(Error::config(TARGET_TYPE, problem)
                    .with_hint(format!("choose one, such as ‹{TARGET_TYPE}={first}›")))
            }
            None => Ok(trained),
        }
    }
}

//! Nodes and edges that a graph gets for one prediction.

use std::path::Path;

use clap::Args;

use super::predict::{PredictArgs, run};
use crate::prepare::import::{GraphFiles, NodeTableFile};
use crate::prepare::partition::GraphAdditions;
use crate::words::error::Result;

/// Predict nodes of a graph with trained weights
///
/// Shows scores of the predictions if the graph has labels.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(in crate::cli) struct PredictAddedArgs {
    #[command(flatten)]
    predict: PredictArgs,
    /// New nodes, in a table with a row for each: its id, and the columns of which the graph's features were made. They are predicted
    /// in place of all nodes; the partitions stay as they are
    #[arg(long, value_name = "[TYPE=]FILE")]
    add_nodes: Vec<String>,
    /// New edges between nodes of the graph and new nodes; with the columns of weights and features of edges that the run uses
    #[arg(long, value_name = "[SRC:REL:DST=]FILE")]
    add_edges: Vec<String>,
}

impl PredictAddedArgs {
    /// The files that are added.
    fn additions(&self) -> Result<GraphAdditions> {
        let edges = self.add_edges.iter();
        let edges = edges.map(|text| GraphFiles::parse_edges("add_edges", text));
        let nodes = self.add_nodes.iter().map(|text| new_nodes(text)).collect();
        Ok(GraphAdditions { nodes, edges: edges.collect::<Result<_>>()? })
    }
}

/// Predicts nodes.
pub(in crate::cli) fn predict(args: PredictAddedArgs) -> Result<()> {
    let added = args.additions()?;
    run(args.predict, added, None)
}

/// Parses a file of new nodes, or TYPE=FILE.
fn new_nodes(text: &str) -> NodeTableFile {
    let (ty, path) = if Path::new(text).exists() {
        (String::new(), text.to_owned())
    } else {
        GraphFiles::parse_of_type(text)
    };
    NodeTableFile { ty, path: path.into() }
}

//! The input of a training step on sampled neighbourhoods.

use std::collections::BTreeMap;

use tch::Tensor;

use crate::graph::{Block, GraphShard};
use crate::words::error::{Error, Result};

/// The sampled neighbourhood of a batch's seeds.
pub struct MiniBatch {
    /// One block per layer, the input layer first. The sources of a layer are the destinations of the layer before it; the last
    /// layer's destinations are the seeds.
    pub blocks: Vec<Block>,
    /// Rows of features of the first block's sources, `[num_sources, width]`, by name.
    pub srcdata: BTreeMap<String, Tensor>,
    /// The values other than zero of further rows of the first block's sources, by name: weighted edges from columns to
    /// rows.
    pub srcdata_entries: BTreeMap<String, GraphShard>,
    /// Rows of features of the seeds, by name.
    pub dstdata: BTreeMap<String, Tensor>,
    /// Rows of features of each block's edges, `[num_edges, width]`, by name, in the order of [`Block::edges`]: DGL's
    /// `blocks[i].edata`. A feature of one edge type has the rows of its edges only: DGL's `blocks[i].edges[etype].data`.
    pub edata: Vec<BTreeMap<String, Tensor>>,
    /// In-degrees, over the whole graph, of the first block's sources, if the sampler reads them. They start with the
    /// sources of every later block.
    pub in_degrees: Option<Vec<u64>>,
    /// Out-degrees, over the whole graph, of the first block's sources, unless the sampler leaves them out. They start
    /// with the sources of every later block.
    pub out_degrees: Option<Vec<u64>>,
}

impl MiniBatch {
    /// The nodes whose neighbourhood was sampled.
    pub fn seeds(&self) -> &[u64] {
        self.blocks.last().map_or(&[], Block::destinations)
    }

    /// The nodes whose features the first layer reads.
    pub fn input_nodes(&self) -> &[u64] {
        self.blocks.first().map_or(&[], Block::sources)
    }

    /// A feature of the input nodes, by name.
    ///
    /// # Errors
    /// If the sampler does not read it.
    pub fn input(&self, name: &str) -> Result<&Tensor> {
        find(&self.srcdata, name, "input_node_feature")
    }

    /// A feature of the seeds, by name.
    ///
    /// # Errors
    /// If the sampler does not read it.
    pub fn output(&self, name: &str) -> Result<&Tensor> {
        find(&self.dstdata, name, "output_node_feature")
    }
}

fn find<'a>(data: &'a BTreeMap<String, Tensor>, name: &str, how: &str) -> Result<&'a Tensor> {
    data.get(name).ok_or_else(|| {
        let hint = format!("name it with {how} when you create the sampler");
        Error::config(name, "is not among the features of this batch").with_hint(hint)
    })
}

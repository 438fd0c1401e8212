//! Layer-by-layer sampling of the neighbourhoods of seeds.

use std::ops::Add;
use std::sync::Arc;

use crate::engine::tensor;
use crate::graph::{Block, InEdges, ShardBuilder};
use crate::load::{EdgeFeatures, NodeColumn, RowBytes};
use crate::sampling::stores::{DistGraph, Fanout, GraphSource, SampleKey, Sampling};
use crate::words::error::{Error, Result};

use super::mini_batch::MiniBatch;

/// A program's own function that draws in-edges: DGL's `sample_frontier`. Its arguments are the graph, the layer (0 is
/// the input layer), the nodes to draw in-edges of, and the sample's key; it returns in-edges node by node. It must be
/// pure, and several threads may call it.
pub type SampleFrontier =
    dyn Fn(&dyn GraphSource, usize, &[u64], SampleKey) -> Result<InEdges> + Send + Sync;

/// A sampler that draws one block per layer, from the seeds outwards: SAR's `DistNeighborSampler`.
///
/// ```
/// use sar::formats::dgl::config::PartitionConfig;
/// use sar::sampling::loaders::DistNeighborSampler;
/// use sar::sampling::stores::{DistGraph, Fanout, GraphSource, IndexConfig, SampleKey};
///
/// let folder = tempfile::tempdir().expect("a folder");
/// let config = PartitionConfig::open("data/karate/karate.json".as_ref())?;
/// let graph = DistGraph::create(&config, &IndexConfig::default(), folder.path())?;
/// let sampler = DistNeighborSampler::new(vec![Fanout::ALL, Fanout::Total(1)])?;
/// let key = SampleKey { seed: 0, epoch: 1, batch: 0, layer: 0 };
/// let batch = sampler.sample(&graph, &[0, 5, 7], key)?;
/// assert_eq!(batch.seeds(), [0, 5, 7]);
/// // One in-edge of each seed, and all in-edges of its nodes.
/// assert_eq!(batch.blocks[1].num_edges(), 3);
/// let degrees = graph.in_degrees(batch.blocks[1].sources())?;
/// assert_eq!(batch.blocks[0].num_edges() as u64, degrees.iter().sum::<u64>());
/// # Ok::<(), sar::Error>(())
/// ```
#[allow(clippy::struct_excessive_bools)] // Each is an option of its own.
pub struct DistNeighborSampler {
    fanouts: Vec<Fanout>,
    frontier: Option<Arc<SampleFrontier>>,
    replace: bool,
    weighted: bool,
    in_degrees: bool,
    out_degrees: bool,
    input_node_features: Vec<(String, NodeColumn)>,
    input_node_entries: Vec<(String, NodeColumn)>,
    output_node_features: Vec<(String, NodeColumn)>,
    edge_features: Vec<(String, EdgeFeatures)>,
}

impl DistNeighborSampler {
    /// A uniform sampler without replacement; `fanouts` holds one fan-out per layer, the input layer's first.
    ///
    /// # Errors
    /// If the number of layers is 0 or greater than 253.
    pub fn new(fanouts: Vec<Fanout>) -> Result<Self> {
        if fanouts.is_empty() || fanouts.len() > 253 {
            let problem = format!("{} fan-outs, but a model has 1 to 253 layers", fanouts.len());
            return Err(Error::config("fan-outs", problem));
        }
        Ok(DistNeighborSampler {
            fanouts,
            frontier: None,
            replace: false,
            weighted: false,
            in_degrees: false,
            out_degrees: true,
            input_node_features: Vec::new(),
            input_node_entries: Vec::new(),
            output_node_features: Vec::new(),
            edge_features: Vec::new(),
        })
    }

    /// A sampler for `layers` layers whose in-edges `sample_frontier` draws: DGL's `BlockSampler` with its own
    /// `sample_frontier`. Options for drawing have no effect on it; features, degrees and excluded edges do.
    ///
    /// ```
    /// use sar::formats::dgl::config::PartitionConfig;
    /// use sar::sampling::loaders::DistNeighborSampler;
    /// use sar::sampling::stores::{DistGraph, Fanout, IndexConfig, SampleKey, Sampling};
    ///
    /// let folder = tempfile::tempdir().expect("a folder");
    /// let config = PartitionConfig::open("data/karate/karate.json".as_ref())?;
    /// let graph = DistGraph::create(&config, &IndexConfig::default(), folder.path())?;
    /// // DGL's `sample_neighbors(g, seed_nodes, fanouts[layer_id])`.
    /// let sampler = DistNeighborSampler::with_frontier(2, |graph, layer, nodes, key| {
    ///     let how = Sampling { fanout: Fanout::Total([4, 2][layer]), replace: false, weighted: false };
    ///     graph.sample_neighbors(nodes, &how, key)
    /// })?;
    /// let built_in = DistNeighborSampler::new(vec![Fanout::Total(4), Fanout::Total(2)])?;
    /// let key = SampleKey { seed: 0, epoch: 1, batch: 0, layer: 0 };
    /// assert_eq!(sampler.sample(&graph, &[0, 5], key)?.blocks, built_in.sample(&graph, &[0, 5], key)?.blocks);
    /// # Ok::<(), sar::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the number of layers is 0 or greater than 253.
    pub fn with_frontier(
        num_layers: usize,
        sample_frontier: impl Fn(&dyn GraphSource, usize, &[u64], SampleKey) -> Result<InEdges>
        + Send
        + Sync
        + 'static,
    ) -> Result<Self> {
        let sampler = Self::new(vec![Fanout::ALL; num_layers])?;
        Ok(DistNeighborSampler { frontier: Some(Arc::new(sample_frontier)), ..sampler })
    }

    /// Sets whether an edge may be drawn several times.
    #[must_use]
    pub fn replace(self, replace: bool) -> Self {
        DistNeighborSampler { replace, ..self }
    }

    /// Sets whether edges are drawn with the probabilities of the graph's index.
    #[must_use]
    pub fn weighted(self, weighted: bool) -> Self {
        DistNeighborSampler { weighted, ..self }
    }

    /// Sets whether in-degrees are read for the sources of the first block (default: no), for models that divide by the
    /// in-degrees of both ends.
    #[must_use]
    pub fn in_degrees(self, in_degrees: bool) -> Self {
        DistNeighborSampler { in_degrees, ..self }
    }

    /// Sets whether out-degrees are read for the sources of the first block (default: yes), for models that divide by
    /// them.
    #[must_use]
    pub fn out_degrees(self, out_degrees: bool) -> Self {
        DistNeighborSampler { out_degrees, ..self }
    }

    /// Adds a feature that is read for the sources of the first block; a feature of one node type is read for that
    /// type's nodes only.
    #[must_use]
    pub fn input_node_feature(mut self, name: &str, column: NodeColumn) -> Self {
        self.input_node_features.push((name.to_owned(), column));
        self
    }

    /// Like [`input_node_feature`](Self::input_node_feature), for a feature with few values other than zero, of which
    /// batches hold only these: [`MiniBatch::srcdata_entries`].
    #[must_use]
    pub fn input_node_entries(mut self, name: &str, column: NodeColumn) -> Self {
        self.input_node_entries.push((name.to_owned(), column));
        self
    }

    /// Adds a feature that is read for the seeds.
    #[must_use]
    pub fn output_node_feature(mut self, name: &str, column: NodeColumn) -> Self {
        self.output_node_features.push((name.to_owned(), column));
        self
    }

    /// Adds a feature that is read for the edges of every block, DGL's `prefetch_edge_feats`; a feature of one edge
    /// type is read for that type's edges only.
    #[must_use]
    pub fn edge_feature(mut self, name: &str, features: EdgeFeatures) -> Self {
        self.edge_features.push((name.to_owned(), features));
        self
    }

    /// Number of layers.
    pub fn num_layers(&self) -> usize {
        self.fanouts.len()
    }

    /// Keeps up to `bytes` bytes of input features in memory until [`forget_rows`](Self::forget_rows): the rows of the
    /// nodes that are drawn most often.
    ///
    /// # Errors
    /// If an index or a feature cannot be read.
    pub fn keep_rows(&self, graph: &DistGraph, bytes: u64) -> Result<()> {
        let share = bytes / self.input_columns().count().max(1) as u64;
        for column in self.input_columns() {
            column.keep(&graph.most_frequent_sources(column.capacity(share))?)?;
        }
        Ok(())
    }

    /// Drops all kept rows.
    pub fn forget_rows(&self) {
        self.input_columns().for_each(NodeColumn::forget);
    }

    /// Bytes of input features that batches have used so far, and bytes that were read for them.
    pub fn row_bytes(&self) -> RowBytes {
        self.input_columns().map(NodeColumn::row_bytes).fold(RowBytes::default(), RowBytes::add)
    }

    fn input_columns(&self) -> impl Iterator<Item = &NodeColumn> {
        let columns = self.input_node_features.iter().chain(&self.input_node_entries);
        columns.map(|(_, column)| column)
    }

    /// Draws the blocks of `seeds` (homogeneous ids without duplicates) and reads their features. The result is a pure
    /// function of the graph, the sampler, the seeds and the key, whose `layer` is ignored.
    ///
    /// # Errors
    /// If a seed does not exist or is named twice, or a file cannot be read.
    pub fn sample(
        &self,
        graph: &dyn GraphSource,
        seeds: &[u64],
        key: SampleKey,
    ) -> Result<MiniBatch> {
        self.sample_without(graph, seeds, None, key)
    }

    /// Like [`sample`](Self::sample), and removes drawn edges for which `excluded(source, destination, edge)` is true.
    ///
    /// # Errors
    /// As for [`sample`](Self::sample).
    pub fn sample_without(
        &self,
        graph: &dyn GraphSource,
        seeds: &[u64],
        excluded: Option<&dyn Fn(u64, u64, u64) -> bool>,
        key: SampleKey,
    ) -> Result<MiniBatch> {
        let mut blocks: Vec<Block> = Vec::with_capacity(self.fanouts.len());
        for layer in (0..self.num_layers()).rev() {
            let frontier = blocks.last().map_or(seeds, Block::sources);
            let key = SampleKey { layer: layer as u32, ..key };
            let mut drawn = self.draw(graph, layer, frontier, key)?;
            if let Some(excluded) = excluded {
                drawn.retain(frontier, |source, destination, edge| {
                    !excluded(source, destination, edge)
                });
            }
            let block = Block::new(frontier, drawn)?;
            blocks.push(block);
        }
        blocks.reverse();
        let inputs = blocks.first().map_or(seeds, Block::sources);
        let read = |features: &[(String, NodeColumn)], nodes: &[u64]| {
            let rows = features.iter().map(|(name, column)| {
                Ok((name.clone(), graph.rows(column, &column.covered(nodes))?))
            });
            rows.collect::<Result<_>>()
        };
        let entries = self.input_node_entries.iter().map(|(name, column)| {
            let rows = graph.rows(column, &column.covered(inputs))?;
            let mut entries = ShardBuilder::default();
            let [count, width] = [0, 1].map(|dim| rows.size()[dim] as usize);
            entries.push_matrix(0, width, &tensor::slice::<f32>(&rows));
            Ok((name.clone(), entries.build(count, width, true)?.0))
        });
        let of_edges = |block: &Block| {
            let rows = self.edge_features.iter().map(|(name, features)| {
                Ok((name.clone(), graph.edge_rows(features, &features.covered(block.edges()))?))
            });
            rows.collect::<Result<_>>()
        };
        Ok(MiniBatch {
            edata: blocks.iter().map(of_edges).collect::<Result<_>>()?,
            srcdata: read(&self.input_node_features, inputs)?,
            srcdata_entries: entries.collect::<Result<_>>()?,
            dstdata: read(&self.output_node_features, seeds)?,
            in_degrees: self.in_degrees.then(|| graph.in_degrees(inputs)).transpose()?,
            out_degrees: self.out_degrees.then(|| graph.out_degrees(inputs)).transpose()?,
            blocks,
        })
    }

    /// Draws the in-edges of a layer's nodes.
    fn draw(
        &self,
        graph: &dyn GraphSource,
        layer: usize,
        nodes: &[u64],
        key: SampleKey,
    ) -> Result<InEdges> {
        let Some(sample_frontier) = &self.frontier else {
            let (fanout, replace) = (self.fanouts[layer].clone(), self.replace);
            let how = Sampling { fanout, replace, weighted: self.weighted };
            return graph.sample_neighbors(nodes, &how, key);
        };
        let drawn = sample_frontier(graph, layer, nodes, key)?;
        check(&drawn, nodes.len(), graph.book().num_nodes()).map_err(|problem| {
            Error::config("sample_frontier", format!("layer {layer}: {problem}"))
        })?;
        Ok(drawn)
    }
}

/// Checks that drawn in-edges match the number of nodes and name nodes of the graph.
fn check(drawn: &InEdges, nodes: usize, num_nodes: u64) -> std::result::Result<(), String> {
    let InEdges { counts, sources, edges, weights } = drawn;
    if counts.len() != nodes {
        return Err(format!("{} counts of in-edges for {nodes} nodes", counts.len()));
    }
    let total: u64 = counts.iter().copied().map(u64::from).sum();
    let lists = [("sources", sources.len()), ("edges", edges.len()), ("weights", weights.len())];
    for (what, len) in lists {
        if len as u64 != total && !(what == "weights" && len == 0) {
            return Err(format!("{len} {what} for {total} in-edges"));
        }
    }
    match sources.iter().find(|source| **source >= num_nodes) {
        Some(source) => Err(format!("there is no node {source}; ids are below {num_nodes}")),
        None => Ok(()),
    }
}

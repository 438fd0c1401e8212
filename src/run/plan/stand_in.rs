//! A small graph with the proportions of a real one, stored as a partition directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::counts::{Pair, RankCounts};
use super::graph_sizes::{FeatureColumns, GraphSizes};
use crate::formats::dgl::writer::{
    ArrayWriter, FeatureSpec, PartitionEdges, PartitionWriter, write_structure,
};
use crate::graph::{CanonicalEtype, PartitionBook};
use crate::io::Dtype;
use crate::load::MASKS;
use crate::nn::Task;
use crate::words::error::{Error, Result};

/// Key of edge weights.
pub(super) const WEIGHT: &str = "weight";
/// Key of edge features.
pub(super) const EDGE_FEATURES: &str = "feat";

/// Number of edges passed to the writer at a time.
const BLOCK: usize = 1 << 14;

/// Writes the stand-in into an existing folder; returns the path of its JSON file. Each rank has exactly the counts in
/// `ranks`.
pub(super) fn write(
    folder: &Path,
    ranks: &[RankCounts],
    sizes: &GraphSizes,
    task: Task,
    edge_weights: bool,
) -> Result<PathBuf> {
    let ntypes = vec!["_N".to_owned()];
    let etypes = (0..sizes.edge_types).map(|i| CanonicalEtype::new("_N", &format!("_E{i}"), "_N"));
    let nodes: Vec<Vec<u64>> = ranks.iter().map(|rank| vec![rank.nodes]).collect();
    // Edge types alternate in ranges of equal length.
    let types = sizes.edge_types as u64;
    let of_type = |edges: u64, ty: u64| edges * (ty + 1) / types - edges * ty / types;
    let edges = ranks.iter().map(|rank| (0..types).map(|ty| of_type(rank.edges(), ty)).collect());
    let edges: Vec<Vec<u64>> = edges.collect();
    let book = Arc::new(PartitionBook::new(ntypes, etypes.collect(), &nodes, &edges)?);
    for part in 0..ranks.len() {
        let path = folder.join(format!("part{part}"));
        std::fs::create_dir(&path).map_err(|e| Error::io("create", &path, e))?;
    }
    let writer = PartitionWriter::new(folder, "g", "stand-in", 1, Arc::clone(&book)).temporary();
    let edges = Edges { ranks, book: &book };
    for part in 0..ranks.len() {
        write_structure(&writer, &book, part, &edges, &mut |_| Ok(()))?;
        write_edge_features(&writer, &book, part, sizes.edge_features, edge_weights)?;
        write_node_features(&writer, &book, part, sizes, task)?;
    }
    writer.finish()
}

/// The edges, computed on demand.
struct Edges<'a> {
    ranks: &'a [RankCounts],
    book: &'a PartitionBook,
}

impl PartitionEdges for Edges<'_> {
    fn inner(&self, part: usize, take: &mut dyn FnMut(&[[u64; 2]]) -> Result<()>) -> Result<()> {
        let own = self.book.node_range(part).start;
        let nodes = self.ranks[part].nodes;
        let mut block = Vec::with_capacity(BLOCK);
        for (source, pair) in self.ranks[part].pairs.iter().enumerate() {
            let first = self.book.node_range(source).start;
            let foreign = self.ranks[source].nodes;
            let Pair { edges, sources, destinations } = *pair;
            let stride = coprime(sources);
            for edge in 0..edges {
                // Every source and every destination gets an edge; the order of sources does not suit caches.
                let src = (edge % sources.max(1)) * stride % sources.max(1);
                let dst = edge * destinations / edges;
                let src = first + src * foreign / sources;
                block.push([src, own + dst * nodes / destinations]);
                if block.len() == BLOCK {
                    take(&block)?;
                    block.clear();
                }
            }
        }
        take(&block)
    }
}

/// A number near the golden section of `count` that is coprime to it.
fn coprime(count: u64) -> u64 {
    fn divisor(a: u64, b: u64) -> u64 {
        if b == 0 { a } else { divisor(b, a % b) }
    }
    let near = (count as f64 * 0.618) as u64;
    (near.max(1)..count).find(|stride| divisor(*stride, count) == 1).unwrap_or(1)
}

fn write_edge_features(
    writer: &PartitionWriter,
    book: &PartitionBook,
    part: usize,
    features: Option<FeatureColumns>,
    weights: bool,
) -> Result<()> {
    let types = 0..book.etypes().len();
    let mut specs = Vec::new();
    let mut rows = Vec::new();
    for ty in types.clone().filter(|_| weights) {
        specs.push(spec(ty, WEIGHT, Dtype::F32, &[]));
        rows.push((ty, 1_f32.to_le_bytes().to_vec()));
    }
    for (ty, FeatureColumns { width, dtype }) in types.filter_map(|ty| Some((ty, features?))) {
        specs.push(spec(ty, EDGE_FEATURES, dtype, &[width]));
        rows.push((ty, vec![0; width as usize * dtype.size()]));
    }
    let mut file = writer.edge_features(part, &specs)?;
    for (array, (ty, row)) in file.arrays().iter_mut().zip(rows) {
        let ids = book.edge_type_range(part, ty);
        repeat(array, &row, ids.end - ids.start)?;
    }
    file.finish()
}

fn write_node_features(
    writer: &PartitionWriter,
    book: &PartitionBook,
    part: usize,
    sizes: &GraphSizes,
    task: Task,
) -> Result<()> {
    let ids = book.node_range(part);
    let (nodes, outputs) = (ids.end - ids.start, sizes.outputs);
    let (columns, dtype) = (sizes.features.width, sizes.features.dtype);
    let mut specs = vec![spec(0, "feat", dtype, &[columns])];
    specs.push(match task {
        Task::Classification => spec(0, "label", Dtype::I64, &[]),
        Task::Multilabel | Task::Regression => spec(0, "label", Dtype::F32, &[outputs]),
    });
    let masks = MASKS.iter().zip(sizes.masks).filter_map(|(name, share)| Some((*name, share?)));
    let masks: Vec<_> = masks.collect();
    specs.extend(masks.iter().map(|(name, _)| spec(0, name, Dtype::U8, &[])));
    let mut file = writer.node_features(part, &specs)?;
    if let [features, labels, mask_arrays @ ..] = file.arrays() {
        // Sizes depend on the number of zeros only if they are many.
        let filled = sizes.filled.map_or(columns, |share| (share * columns as f64) as u64);
        let values: Vec<f32> =
            (0..columns).map(|column| f32::from(u8::from(column < filled))).collect();
        let mut row = vec![0; columns as usize * dtype.size()];
        dtype.from_f32(&values, &mut row);
        repeat(features, &row, nodes)?;
        for node in ids.clone() {
            match task {
                // The first node has the highest class, which determines the number of classes.
                Task::Classification => {
                    let class = outputs.saturating_sub(1 + node % outputs.max(1));
                    labels.append_i64(&[class as i64])?;
                }
                Task::Multilabel | Task::Regression => {
                    let value = |column| if (node + column) % 2 == 0 { 1.0 } else { 0.0 };
                    labels.append_f32(&(0..outputs).map(value).collect::<Vec<_>>())?;
                }
            }
        }
        for (which, (array, (_, share))) in mask_arrays.iter_mut().zip(&masks).enumerate() {
            for node in ids.clone() {
                // Masks select different nodes, spread evenly; the first node is always a training node.
                let place = (node as f64 * 0.618 + which as f64 / 3.0).fract();
                let named = place < *share || (which == 0 && node == 0);
                array.append_bytes(&[u8::from(named)])?;
            }
        }
    }
    file.finish()
}

fn repeat(array: &mut ArrayWriter, bytes: &[u8], times: u64) -> Result<()> {
    (0..times).try_for_each(|_| array.append_bytes(bytes))
}

fn spec(ty: usize, name: &str, dtype: Dtype, row_shape: &[u64]) -> FeatureSpec {
    FeatureSpec { ty, name: name.to_owned(), dtype, row_shape: row_shape.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::dgl::config::PartitionConfig;
    use crate::formats::dgl::{SampledPartition, Spread};

    #[test]
    fn a_stand_in_has_the_counts_it_is_asked_for() {
        let own = Pair { edges: 90, sources: 40, destinations: 41 };
        let other = Pair { edges: 33, sources: 12, destinations: 15 };
        let ranks = [
            RankCounts { nodes: 50, pairs: vec![own, other] },
            RankCounts { nodes: 60, pairs: vec![other, own] },
        ];
        let sizes = GraphSizes {
            ranks: ranks.to_vec(),
            features: FeatureColumns { width: 3, dtype: Dtype::F16 },
            filled: None,
            edge_features: Some(FeatureColumns { width: 2, dtype: Dtype::F32 }),
            outputs: 4,
            masks: [Some(0.5), None, Some(0.1)],
            edge_types: 2,
            sampled: false,
        };
        let folder = tempfile::tempdir().unwrap();
        let json = write(folder.path(), &ranks, &sizes, Task::Classification, true).unwrap();
        let config = PartitionConfig::open(&json).unwrap();
        assert!(crate::formats::dgl::verify(&config).is_empty());
        for part in 0..2 {
            let sampled = SampledPartition::open(&config, part).unwrap();
            assert_eq!(sampled.partition().num_halo_nodes(), 12);
            let mut edges: Vec<[u64; 2]> = Vec::new();
            let all = Spread { runs: 1, max: u64::MAX };
            sampled.visit(all, &mut |run| edges.extend(&run.edges)).unwrap();
            assert_eq!(edges.len(), 123);
            let inside = config.book().node_range(part);
            let inner = edges.iter().filter(|[src, _]| inside.contains(src));
            let destinations: std::collections::HashSet<_> = inner.map(|[_, dst]| dst).collect();
            assert_eq!(destinations.len(), 41);
        }
    }
}

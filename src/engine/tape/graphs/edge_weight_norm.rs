//! Normalisation of edge weights by the roots of their sums at both ends.

use tch::{Kind, Tensor};

use super::graph::Graph;
use super::graph_shard_manager::GraphShardManager;
use super::row_layout::RowLayout;
use crate::engine::spill::ShardPointer;
use crate::engine::tape::ops::aggregate::add_rows;
use crate::engine::tensor;
use crate::graph::{Csr, GraphShard, SortedEdges};
use crate::words::error::{Error, Result};

/// Type of the sums, for models of any precision.
const KIND: Kind = Kind::Double;

impl GraphShardManager {
    /// Replaces each edge weight w_uv by `w_uv / sqrt(sum of w_u. · sum of w_.v)`, with sums over all out-edges of the
    /// source and all in-edges of the destination: `dgl.nn.EdgeWeightNorm("both")`. Two collectives.
    ///
    /// # Errors
    /// If a weight is not positive, or the graph has no weights.
    pub fn normalise_edge_weights(&mut self) -> Result<()> {
        let posted = self.push(None, &mut |shard, _| Ok(vec![source_sums(shard)?]))?;
        let own = source_sums(self.local_shard())?;
        let own = self.exchange.manager.track("weight-sums", own);
        let collective = self.exchange.complete(posted)?;
        let mut sources = own.take()?;
        self.pushed(collective.as_ref(), &[RowLayout::new(1, KIND)], &mut |rows, parts| {
            add_rows(&parts[0], rows, &mut sources)
        })?;
        let posted = self.pull(&[&sources], &[RowLayout::new(1, KIND)], false)?;
        let sources = self.exchange.manager.track("weight-sums", sources);
        let collective = self.exchange.complete(posted)?;
        let mut destinations = vec![0.0; self.num_destinations()];
        for shard in self.shards() {
            let edges = shard.by_dst()?;
            let Some(weights) = &edges.weights else { continue };
            for_entries(&edges.ends, |row, _, entry| {
                destinations[row] += f64::from(weights[entry]);
            });
        }
        // The own shard comes first, then the other ranks' shards in order.
        let mut normalised = vec![divided(self.local_shard(), &*sources.pin()?, &destinations)?];
        self.pulled(collective.as_ref(), &[RowLayout::new(1, KIND)], &mut |shard, parts| {
            normalised.push(divided(shard, &parts[0], &destinations)?);
            Ok(())
        })?;
        let ranks = std::iter::once(self.exchange.group.rank()).chain(self.exchange.others());
        for (rank, shard) in ranks.collect::<Vec<_>>().into_iter().zip(normalised) {
            self.shards[rank] = self.exchange.manager.track_shard("shard", shard);
        }
        Ok(())
    }
}

/// Visits row, column and index of each entry.
fn for_entries(matrix: &Csr, mut visit: impl FnMut(usize, usize, usize)) {
    for (i, &row) in matrix.rows().iter().enumerate() {
        let begin = matrix.indptr()[i] as usize;
        for (entry, &column) in matrix.columns(i).iter().enumerate() {
            visit(row as usize, column as usize, begin + entry);
        }
    }
}

/// Sum of the weights of each source's edges, `[sources, 1]`.
fn source_sums(shard: &ShardPointer) -> Result<Tensor> {
    let mut sums = vec![0.0; shard.num_sources()];
    if shard.num_edges() > 0 {
        let edges = shard.by_src()?;
        let missing = || Error::config("edge weights", "none are loaded");
        let weights = edges.weights.as_ref().ok_or_else(missing)?;
        if let Some(weight) = weights.iter().find(|weight| **weight <= 0.0 || !weight.is_finite()) {
            let problem = format!(
                "an edge has weight {weight}; this model divides by roots of their sums, so they must be positive"
            );
            return Err(Error::config("keys.edge_weight", problem)
                .with_hint("name other edge weights, or leave ‹keys.edge_weight› out"));
        }
        for_entries(&edges.ends, |row, _, entry| sums[row] += f64::from(weights[entry]));
    }
    Ok(Tensor::f_from_slice(&sums)?.f_view([-1, 1])?)
}

fn divided(shard: &ShardPointer, sources: &Tensor, destinations: &[f64]) -> Result<GraphShard> {
    let mut by_dst = SortedEdges::clone(&*shard.by_dst()?);
    let sources = &tensor::slice::<f64>(sources);
    if let Some(weights) = &mut by_dst.weights {
        for_entries(&by_dst.ends, |dst, src, entry| {
            let weight = &mut weights[entry];
            *weight = (f64::from(*weight) / (sources[src] * destinations[dst]).sqrt()) as f32;
        });
    }
    Ok(GraphShard { by_src: by_dst.transpose(), by_dst })
}

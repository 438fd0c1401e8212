//! Edge weights divided by the roots of their sums at both ends.

use tch::{Kind, Tensor};

use super::aggregate::add_rows;
use super::graph::Graph;
use super::manager::GraphShardManager;
use crate::error::{Error, Result};
use crate::graph::{Csr, GraphShard, PerEdge};
use crate::tensor;

/// Sums are added up in double precision, whatever models compute in.
const KIND: Kind = Kind::Double;

impl GraphShardManager {
    /// Replaces each edge weight w_uv by `w_uv / sqrt(sum of w_u. · sum of w_.v)`, the sums going over all out-edges of the
    /// source and all in-edges of the destination: `dgl.nn.EdgeWeightNorm("both")`. Two collectives.
    ///
    /// # Errors
    /// If a weight is not positive, or there are no weights.
    pub fn normalise_edge_weights(&mut self) -> Result<()> {
        let (transfer, own) = {
            let local = self.local_shard()?;
            (self.push(None, &mut |shard, _| Ok(vec![source_sums(shard)?]))?, source_sums(&local)?)
        };
        let own = self.manager.track("weight-sums", own);
        let collective = self.complete(transfer)?;
        let mut sources = own.take()?;
        self.pushed(collective.as_ref(), &[(1, KIND)], &mut |rows, parts| {
            add_rows(&parts[0], rows, &mut sources)
        })?;
        let transfer = self.pull(&[&sources], false)?;
        let sources = self.manager.track("weight-sums", sources);
        let collective = self.complete(transfer)?;
        let mut destinations = vec![0.0; self.num_destinations()];
        self.shards(&mut |shard| {
            for_entries(&shard.by_dst, |row, _, entry| {
                if let Some(weights) = &shard.weights {
                    destinations[row] += f64::from(weights.by_dst[entry]);
                }
            });
            Ok(())
        })?;
        // Own first, then the other ranks in their order.
        let mut normalised = vec![divided(&*self.local_shard()?, &*sources.pin()?, &destinations)];
        self.pulled(collective.as_ref(), &[(1, KIND)], &mut |shard, parts| {
            normalised.push(divided(shard, &parts[0], &destinations));
            Ok(())
        })?;
        let ranks = std::iter::once(self.group.rank()).chain(self.others());
        for (rank, shard) in ranks.collect::<Vec<_>>().into_iter().zip(normalised) {
            self.shards[rank] = self.manager.track("shard", shard);
        }
        Ok(())
    }
}

/// Row, column and place of each entry.
fn for_entries(matrix: &Csr, mut visit: impl FnMut(usize, usize, usize)) {
    for (i, &row) in matrix.rows().iter().enumerate() {
        let begin = matrix.indptr()[i] as usize;
        for (entry, &column) in matrix.columns(i).iter().enumerate() {
            visit(row as usize, column as usize, begin + entry);
        }
    }
}

/// The sum of the weights of each source's edges, `[sources, 1]`.
fn source_sums(shard: &GraphShard) -> Result<Tensor> {
    let mut sums = vec![0.0; shard.by_src.num_rows()];
    if shard.by_src.num_entries() > 0 {
        let missing = || Error::config("edge weights", "none are loaded");
        let weights = &shard.weights.as_ref().ok_or_else(missing)?.by_src;
        if let Some(weight) = weights.iter().find(|weight| **weight <= 0.0 || !weight.is_finite()) {
            let problem = format!(
                "an edge has weight {weight}; this model divides by roots of their sums, so they must be positive"
            );
            return Err(Error::config("--edge-weight-key", problem)
                .with_hint("name other edge weights, or leave the flag out"));
        }
        for_entries(&shard.by_src, |row, _, entry| sums[row] += f64::from(weights[entry]));
    }
    Ok(Tensor::f_from_slice(&sums)?.f_view([-1, 1])?)
}

fn divided(shard: &GraphShard, sources: &Tensor, destinations: &[f64]) -> GraphShard {
    let mut shard = shard.clone();
    let sources = tensor::slice::<f64>(sources);
    if let Some(PerEdge { by_dst, by_src }) = &mut shard.weights {
        let divide = |weight: &mut f32, src: usize, dst: usize| {
            *weight = (f64::from(*weight) / (sources[src] * destinations[dst]).sqrt()) as f32;
        };
        for_entries(&shard.by_dst, |dst, src, entry| divide(&mut by_dst[entry], src, dst));
        for_entries(&shard.by_src, |src, dst, entry| divide(&mut by_src[entry], src, dst));
    }
    shard
}

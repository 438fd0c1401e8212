//! Small graphs of several types of nodes and edges, and the output of layers on them.

use tch::Tensor;

use super::outputs::{ParameterValues, filled};
use super::ranks::{RankContext, on_ranks};
use crate::engine::tape::{HeteroGraphShardManager, ParameterBuilder, Tape, Var};
use crate::graph::{CanonicalEtype, PartitionBook, ShardBuilder};
use crate::words::error::Result;

/// A graph of several types of nodes and edges, on one rank.
#[derive(Debug, Clone, Default)]
pub struct TestHeteroGraph {
    ntypes: Vec<String>,
    counts: Vec<u64>,
    etypes: Vec<CanonicalEtype>,
    edges: Vec<Vec<[u32; 2]>>,
}

impl TestHeteroGraph {
    /// Adds a type with `count` nodes.
    #[must_use]
    pub fn nodes(mut self, ntype: &str, count: u64) -> Self {
        self.ntypes.push(ntype.to_owned());
        self.counts.push(count);
        self
    }

    /// Adds a type with these edges, each from a node of the type `src` to one of the type `dst`, both counted from 0.
    #[must_use]
    pub fn edges(mut self, src: &str, name: &str, dst: &str, edges: &[[u32; 2]]) -> Self {
        self.etypes.push(CanonicalEtype::new(src, name, dst));
        self.edges.push(edges.to_vec());
        self
    }

    /// The graph as its rank sees it; one collective.
    ///
    /// # Errors
    /// If an edge type joins unknown node types, or the collective fails.
    pub fn on(&self, context: &RankContext) -> Result<HeteroGraphShardManager> {
        let edges = self.edges.iter().map(|edges| edges.len() as u64).collect();
        let (ntypes, etypes) = (self.ntypes.clone(), self.etypes.clone());
        let book =
            PartitionBook::new(ntypes, etypes, std::slice::from_ref(&self.counts), &[edges])?;
        let shards = book.etype_ends().iter().zip(&self.edges).map(|(ends, edges)| {
            let mut builder = ShardBuilder::default();
            for [src, dst] in edges {
                builder.push(*src, *dst);
            }
            let [src, dst] = ends.map(|ntype| self.counts[ntype] as usize);
            let (shard, sources) = builder.build(dst, src, true)?;
            Ok((vec![shard], vec![sources]))
        });
        let shards = shards.collect::<Result<Vec<_>>>()?;
        HeteroGraphShardManager::new(&context.manager, &context.group, &book, shards)
    }
}

/// The rows that `forward` computes on a graph with each result of `make`, in double precision. `features`
/// has rows per node type.
///
/// # Errors
/// If a parameter does not exist or has another number of values, or the layer fails.
pub fn hetero_output<T>(
    graph: &TestHeteroGraph,
    features: &[&[&[f64]]],
    values: &ParameterValues<'_>,
    make: impl Fn(&mut ParameterBuilder, &HeteroGraphShardManager) -> Result<T> + Sync,
    forward: impl for<'a> Fn(&T, &mut Tape<'a>, &'a HeteroGraphShardManager, Vec<Var>) -> Result<Var>
    + Sync,
) -> Result<Vec<f64>> {
    let work = |context: RankContext| {
        let full = graph.on(&context)?;
        let (made, parameters) = filled(&context, values, &|builder| make(builder, &full))?;
        let mut tape = Tape::evaluation(&context.manager, &parameters);
        let mut inputs = Vec::new();
        for rows in features {
            let width = rows.first().map_or(0, |row| row.len()) as i64;
            let rows = Tensor::f_from_slice(&rows.concat())?.f_view([rows.len() as i64, width])?;
            inputs.push(tape.input(&context.manager.track("features", rows)));
        }
        let y = forward(&made, &mut tape, &full, inputs)?;
        Ok(Vec::try_from(y.pin()?.f_flatten(0, -1)?)?)
    };
    Ok(on_ranks(1, 1, work)?.concat())
}

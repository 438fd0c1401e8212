//! The edges into a rank's nodes, one shard per rank that owns sources.

use sar::engine::comm::{Hooks, Operation, ProcessGroup, Recipient, complete};
use sar::formats::dgl::Partition;
use sar::graph::GraphShard;
use sar::load::{EdgeData, Shards};
use sar::{Error, Result};

/// A rank's in-edges. They are numbered shard by shard in [`order`](LocalGraph::order), and in a shard by destination.
pub(crate) struct LocalGraph {
    own: usize,
    num_nodes: usize,
    shards: Vec<GraphShard>,
    /// By rank: the rows there that the columns of its shard stand for; empty for the own shard, whose columns are the rows.
    sources: Vec<Vec<u32>>,
    /// By rank: own rows that it has edges from; empty for the rank itself.
    requests: Vec<Vec<u32>>,
    /// By rank: of each entry of `by_src`, its place in `by_dst`.
    places: Vec<Vec<u32>>,
    /// By rank: the number of its shard's first edge.
    first_edges: Vec<usize>,
    num_edges: usize,
    out_degrees: Vec<i64>,
}

impl LocalGraph {
    /// Reads the edges of a partition, and tells every rank which of its rows they begin at; one collective.
    pub(crate) fn load(
        partition: &Partition,
        group: &dyn ProcessGroup,
        hooks: &dyn Hooks,
    ) -> Result<Self> {
        let columns = EdgeData { weight: None, types: true, feature_rows: true };
        let Shards { shards, sources } = Shards::load(partition, columns)?;
        let own = partition.part();
        let num_nodes = partition.num_inner_nodes() as usize;
        let mut graph = LocalGraph {
            own,
            num_nodes,
            places: shards.iter().map(|shard| shard.by_dst.ends.transpose().1).collect(),
            first_edges: vec![0; shards.len()],
            requests: Vec::new(),
            num_edges: 0,
            out_degrees: vec![0; num_nodes],
            shards,
            sources,
        };
        for rank in graph.order() {
            graph.first_edges[rank] = graph.num_edges;
            graph.num_edges += graph.ends(rank).num_entries();
        }
        graph.exchange_requests(group, hooks)?;
        Ok(graph)
    }

    fn exchange_requests(&mut self, group: &dyn ProcessGroup, hooks: &dyn Hooks) -> Result<()> {
        let mut outbox = group.outbox(Operation::ExchangeTensors)?;
        for (rank, shard) in self.shards.iter().enumerate() {
            outbox.begin(Recipient::Rank(rank));
            let mut degrees = vec![0_u32; shard.by_src.ends.num_rows()];
            for (i, &row) in shard.by_src.ends.rows().iter().enumerate() {
                degrees[row as usize] = shard.by_src.ends.columns(i).len() as u32;
            }
            outbox.write(bytemuck::cast_slice(&degrees))?;
            if rank != self.own {
                outbox.write(bytemuck::cast_slice(&self.sources[rank]))?;
            }
        }
        let collective = complete(group, outbox.post()?, hooks)?;
        for rank in 0..self.shards.len() {
            let mut inbox = group.inbox(&collective, rank)?;
            let mut values = vec![0_u32; inbox.remaining() as usize / size_of::<u32>()];
            inbox.read(bytemuck::cast_slice_mut(&mut values))?;
            let rows = if rank == self.own {
                (0..self.num_nodes as u32).collect()
            } else {
                values.split_off(values.len() / 2)
            };
            for (&row, &degree) in rows.iter().zip(&values) {
                let total = self.out_degrees.get_mut(row as usize).ok_or_else(|| {
                    let problem = format!("rank {rank} asks for row {row} of {}", self.num_nodes);
                    Error::internal(problem)
                })?;
                *total += i64::from(degree);
            }
            self.requests.push(if rank == self.own { Vec::new() } else { rows });
        }
        Ok(())
    }

    /// The ranks in the order in which edges are numbered and rows are summed: this one, then the others ascending.
    pub(crate) fn order(&self) -> impl Iterator<Item = usize> + use<> {
        let own = self.own;
        std::iter::once(own).chain((0..self.shards.len()).filter(move |rank| *rank != own))
    }

    /// The other ranks, ascending.
    pub(crate) fn others(&self) -> impl Iterator<Item = usize> + use<> {
        self.order().skip(1)
    }

    pub(crate) fn own(&self) -> usize {
        self.own
    }

    pub(crate) fn num_nodes(&self) -> usize {
        self.num_nodes
    }

    pub(crate) fn num_edges(&self) -> usize {
        self.num_edges
    }

    pub(crate) fn out_degrees(&self) -> &[i64] {
        &self.out_degrees
    }

    /// The structure of a shard by destination.
    pub(crate) fn ends(&self, rank: usize) -> &sar::graph::Csr {
        &self.shards[rank].by_dst.ends
    }

    /// The structure of a shard by source.
    pub(crate) fn transpose(&self, rank: usize) -> &sar::graph::Csr {
        &self.shards[rank].by_src.ends
    }

    /// The number among the entries by destination of each entry of a shard by source.
    pub(crate) fn places(&self, rank: usize) -> &[u32] {
        &self.places[rank]
    }

    /// Own rows that a rank has edges from, ascending.
    pub(crate) fn requests(&self, rank: usize) -> &[u32] {
        &self.requests[rank]
    }

    /// The edges of a shard.
    pub(crate) fn edges(&self, rank: usize) -> std::ops::Range<usize> {
        let first = self.first_edges[rank];
        first..first + self.ends(rank).num_entries()
    }

    /// Rows of all sources: the own nodes, then those of each other rank that have an edge here.
    pub(crate) fn num_halo_rows(&self) -> usize {
        self.order().map(|rank| self.ends(rank).num_cols()).sum()
    }

    /// Calls `edge` with the number of each edge and what is known of it.
    pub(crate) fn each_edge(&self, mut edge: impl FnMut(usize, Edge)) {
        let mut first_row = 0;
        for rank in self.order() {
            let edges = &self.shards[rank].by_dst;
            let mut number = self.first_edges[rank];
            let mut entry = 0;
            for (i, &dst) in edges.ends.rows().iter().enumerate() {
                for &column in edges.ends.columns(i) {
                    edge(
                        number,
                        Edge {
                            source: first_row + i64::from(column),
                            destination: i64::from(dst),
                            etype: edges.types.as_ref().map_or(0, |types| i64::from(types[entry])),
                            row: edges.feature_rows.as_ref().map_or(0, |rows| rows[entry] as i64),
                        },
                    );
                    number += 1;
                    entry += 1;
                }
            }
            first_row += edges.ends.num_cols() as i64;
        }
    }
}

/// What is known of an edge.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Edge {
    pub(crate) source: i64,
    pub(crate) destination: i64,
    pub(crate) etype: i64,
    pub(crate) row: i64,
}

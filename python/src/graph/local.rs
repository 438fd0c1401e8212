//! The edges into a rank's nodes, one shard per rank that owns sources.

use std::rc::Rc;

use sar::engine::comm::{Operation, Recipient};
use sar::formats::dgl::Partition;
use sar::graph::{GraphShard, ShardBuilder};
use sar::load::{EdgeData, Shards};
use sar::{Error, Result};

use super::world::World;

/// Edges into some of a rank's nodes: of each the rank that owns its source, the source's row there, its destination, type and id.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layer<'a> {
    /// Nodes that edges end at.
    pub(crate) num_nodes: usize,
    /// By rank: how many rows it has chosen.
    pub(crate) rows: &'a [i64],
    pub(crate) owner: &'a [i64],
    pub(crate) row: &'a [i64],
    pub(crate) destination: &'a [i64],
    pub(crate) etype: &'a [i64],
    pub(crate) id: &'a [i64],
}

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
    /// By rank: the id of its first node.
    first_nodes: Vec<i64>,
    /// The id of the partition's first edge.
    first_id: i64,
    /// The other ranks.
    pub(super) world: Rc<World>,
}

impl LocalGraph {
    /// Reads the edges of a partition, and tells every rank which of its rows they begin at; one collective.
    pub(crate) fn load(partition: &Partition, world: Rc<World>) -> Result<Self> {
        let columns = EdgeData { weight: None, types: true, ids: true, within: None };
        let Shards { shards, sources } = Shards::load(partition, columns)?;
        let num_nodes = partition.num_inner_nodes() as usize;
        Self::new(partition, num_nodes, shards, sources, world)
    }

    /// The edges into some of a rank's nodes, on rows that each rank has chosen and numbered; one collective.
    ///
    /// # Errors
    /// If an edge has an end that its rank lacks, or there are 2^32 edges or more from one rank.
    pub(crate) fn of_layer(
        partition: &Partition,
        layer: &Layer<'_>,
        world: Rc<World>,
    ) -> Result<Self> {
        let own = partition.part();
        let mut builders: Vec<_> = layer.rows.iter().map(|_| ShardBuilder::default()).collect();
        for (at, (&owner, &row)) in layer.owner.iter().zip(layer.row).enumerate() {
            let destination = layer.destination[at];
            let known =
                layer.rows.get(owner as usize).is_some_and(|rows| (row as u64) < *rows as u64);
            if !known || destination as usize >= layer.num_nodes {
                let problem = format!("edge from row {row} of rank {owner} to row {destination}");
                return Err(Error::internal(problem));
            }
            let builder = &mut builders[owner as usize];
            builder.push(row as u32, destination as u32);
            builder.push_type(layer.etype[at] as u16);
            builder.push_edge_id(layer.id[at] as u64);
        }
        let built = builders.into_iter().zip(layer.rows).enumerate();
        let built = built.map(|(rank, (builder, rows))| {
            builder.build(layer.num_nodes, *rows as usize, rank == own)
        });
        let (shards, sources) = built.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        Self::new(partition, layer.num_nodes, shards, sources, world)
    }

    fn new(
        partition: &Partition,
        num_nodes: usize,
        shards: Vec<GraphShard>,
        sources: Vec<Vec<u32>>,
        world: Rc<World>,
    ) -> Result<Self> {
        let own = partition.part();
        let mut graph = LocalGraph {
            own,
            num_nodes,
            places: shards.iter().map(|shard| shard.by_dst.ends.transpose().1).collect(),
            first_edges: vec![0; shards.len()],
            requests: Vec::new(),
            num_edges: 0,
            out_degrees: vec![0; shards[own].by_dst.ends.num_cols()],
            first_nodes: (0..shards.len())
                .map(|part| partition.book().node_range(part).start as i64)
                .collect(),
            first_id: partition.book().edge_range(own).start as i64,
            shards,
            sources,
            world,
        };
        graph.number_edges();
        graph.exchange_requests()?;
        Ok(graph)
    }

    /// The edges of a block, numbered in its order; `row` of an edge is its place in the arrays.
    ///
    /// # Errors
    /// If an edge has an end that the block lacks, or there are 2^32 edges or more.
    pub(crate) fn of_block(
        num_sources: usize,
        num_nodes: usize,
        source: &[i64],
        destination: &[i64],
    ) -> Result<Self> {
        let mut builder = ShardBuilder::default();
        let mut out_degrees = vec![0; num_sources];
        for (row, (&src, &dst)) in source.iter().zip(destination).enumerate() {
            if src as usize >= num_sources || dst as usize >= num_nodes {
                let problem = format!(
                    "edge {src} -> {dst} of a block with {num_sources} sources and {num_nodes} destinations"
                );
                return Err(Error::internal(problem));
            }
            builder.push(src as u32, dst as u32);
            builder.push_edge_id(row as u64);
            out_degrees[src as usize] += 1;
        }
        let (shard, _) = builder.build(num_nodes, num_sources, true)?;
        let mut graph = LocalGraph {
            own: 0,
            num_nodes,
            places: vec![shard.by_dst.ends.transpose().1],
            shards: vec![shard],
            sources: vec![Vec::new()],
            requests: vec![Vec::new()],
            first_edges: vec![0],
            num_edges: 0,
            out_degrees,
            first_nodes: vec![0],
            first_id: 0,
            world: World::alone()?,
        };
        graph.number_edges();
        Ok(graph)
    }

    fn number_edges(&mut self) {
        for rank in self.order() {
            self.first_edges[rank] = self.num_edges;
            self.num_edges += self.ends(rank).num_entries();
        }
    }

    fn exchange_requests(&mut self) -> Result<()> {
        let mut outbox = self.world.group.outbox(Operation::ExchangeTensors)?;
        for (rank, shard) in self.shards.iter().enumerate() {
            outbox.begin(Recipient::Rank(rank))?;
            let mut degrees = vec![0_u32; shard.by_src.ends.num_rows()];
            for (i, &row) in shard.by_src.ends.rows().iter().enumerate() {
                degrees[row as usize] = shard.by_src.ends.columns(i).len() as u32;
            }
            outbox.write(bytemuck::cast_slice(&degrees))?;
            if rank != self.own {
                outbox.write(bytemuck::cast_slice(&self.sources[rank]))?;
            }
        }
        let collective = self.world.complete(outbox)?;
        for rank in 0..self.shards.len() {
            let mut inbox = self.world.group.inbox(&collective, rank)?;
            let mut values = vec![0_u32; inbox.remaining() as usize / size_of::<u32>()];
            inbox.read(bytemuck::cast_slice_mut(&mut values))?;
            let rows = if rank == self.own {
                (0..self.num_sources() as u32).collect()
            } else {
                values.split_off(values.len() / 2)
            };
            let own_rows = self.out_degrees.len();
            for (&row, &degree) in rows.iter().zip(&values) {
                let total = self.out_degrees.get_mut(row as usize).ok_or_else(|| {
                    let problem = format!("rank {rank} asks for row {row} of {own_rows}");
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

    /// Nodes here that edges begin at: the own nodes, or the sources of a block.
    pub(crate) fn num_sources(&self) -> usize {
        self.ends(self.own).num_cols()
    }

    /// Ids of the rows that the columns of a shard stand for.
    pub(crate) fn source_ids(&self, rank: usize) -> Vec<i64> {
        let first = self.first_nodes[rank];
        if rank == self.own {
            return (first..first + self.num_sources() as i64).collect();
        }
        self.sources[rank].iter().map(|row| first + i64::from(*row)).collect()
    }

    /// Ids of the nodes that edges end at.
    pub(crate) fn node_ids(&self) -> Vec<i64> {
        let first = self.first_nodes[self.own];
        (first..first + self.num_nodes as i64).collect()
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
                            row: edges
                                .edge_ids
                                .as_ref()
                                .map_or(0, |ids| ids[entry] as i64 - self.first_id),
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

/// Facts about an edge.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Edge {
    pub(crate) source: i64,
    pub(crate) destination: i64,
    pub(crate) etype: i64,
    pub(crate) row: i64,
}

//! METIS, on graphs that fit in memory.

use metis::option::Seed;

use super::child::in_child;
use super::loads::TOLERANCE;
use super::partitioner::PartitionTask;
use super::progress::{Meter, Observer};
use crate::words::error::{Error, Result};
use crate::words::size::size;

/// Bound on sums of weights, which leaves METIS room in its 32 bits.
const MAX_SUM: u64 = 1 << 30;

/// Bytes of METIS's memory per neighbour and per node, including its input, on graphs that it can hardly coarsen:
/// measured on R-MAT graphs. Graphs with communities take half.
const PER_ENTRY: u64 = 80;
const PER_NODE: u64 = 120;
/// Number of a node's quantities that these bytes include, and bytes per further quantity: a weight of 64 bits, and
/// METIS's of 32.
const USUAL_QUANTITIES: usize = 3;
const PER_QUANTITY: u64 = 24;

/// Exit codes of a child that ran METIS.
const DONE: u8 = 0;
const NO_MEMORY: u8 = 1;
const FAILED: u8 = 2;

/// METIS (Karypis and Kumar 1998) on the whole graph.
pub(super) fn metis_parts(
    task: &PartitionTask<'_>,
    observer: &mut Observer<'_>,
) -> Result<Vec<u16>> {
    let adjacency = task.adjacency(observer)?;
    let limit = i32::MAX as u64;
    if adjacency.entries > limit || adjacency.num_nodes >= limit {
        let problem = format!(
            "METIS counts with 32 bits, but the graph has {} nodes and {} pairs of neighbours",
            adjacency.num_nodes,
            adjacency.entries / 2
        );
        return Err(Error::config("method", problem).with_hint("use ‹method=stream›"));
    }
    check_memory(adjacency.num_nodes, adjacency.entries, task.balance.count(), task.memory)
        .map_err(|e| {
            let raise = e.marked_hint().unwrap_or_default();
            let hint = format!("use ‹method=stream›, or {raise}");
            e.with_hint(hint)
        })?;
    let mut graph = WeightedGraph::new(task.balance.count());
    let mut weights = vec![0; task.balance.count()];
    let mut meter = Meter::new(observer, "assigning nodes", adjacency.num_nodes)?;
    let mut nodes = adjacency.read();
    for node in 0..adjacency.num_nodes {
        meter.tick()?;
        let (_, edges) = nodes.node()?;
        task.balance.weigh(node, edges, &mut weights);
        while let Some(neighbour) = nodes.neighbour()? {
            graph.neighbours.push(neighbour as i32);
        }
        graph.end_node(&weights);
    }
    graph.partition(task.num_parts, task.seed)
}

/// Memory that METIS may need, in bytes.
fn needed_memory(nodes: u64, entries: u64, quantities: usize) -> u64 {
    let more = quantities.saturating_sub(USUAL_QUANTITIES) as u64 * PER_QUANTITY;
    entries * PER_ENTRY + nodes * (PER_NODE + more)
}

/// Refuses a graph for which METIS needs more than `memory` bytes.
fn check_memory(nodes: u64, entries: u64, quantities: usize, memory: u64) -> Result<()> {
    let needed = needed_memory(nodes, entries, quantities);
    if needed <= memory {
        return Ok(());
    }
    let problem = format!(
        "METIS may need {} for {nodes} nodes and {} pairs of neighbours, but {} are left",
        size(needed),
        entries / 2,
        size(memory)
    );
    let missing = (needed - memory).div_ceil(1 << 20);
    Err(Error::config("memory", problem).with_hint(format!("raise ‹memory› by {missing} MiB")))
}

/// A symmetric graph with weights of nodes and of pairs of neighbours.
#[derive(Debug)]
pub(crate) struct WeightedGraph {
    starts: Vec<i32>,
    /// Neighbours of all nodes, node by node.
    pub(crate) neighbours: Vec<i32>,
    /// A weight per neighbour; empty if all are 1.
    pub(crate) weights: Vec<u32>,
    /// Weights of nodes in each balanced quantity, node by node.
    node_weights: Vec<u64>,
    quantities: usize,
}

impl WeightedGraph {
    /// A graph without nodes yet, whose nodes will have weights in this number of balanced quantities.
    pub(crate) fn new(quantities: usize) -> Self {
        let (neighbours, weights, node_weights) = (Vec::new(), Vec::new(), Vec::new());
        WeightedGraph { starts: vec![0], neighbours, weights, node_weights, quantities }
    }

    /// Ends the next node's neighbours; `weights` are its weights in the balanced quantities.
    pub(crate) fn end_node(&mut self, weights: &[u64]) {
        self.starts.push(self.neighbours.len() as i32);
        self.node_weights.extend_from_slice(weights);
    }

    fn num_nodes(&self) -> usize {
        self.starts.len() - 1
    }

    /// Memory that METIS may need for the graph, in bytes.
    pub(crate) fn needed_memory(&self) -> u64 {
        needed_memory(self.num_nodes() as u64, self.neighbours.len() as u64, self.quantities)
    }

    /// Refuses the graph if METIS needs more than `memory` bytes for it.
    pub(crate) fn check_memory(&self, memory: u64) -> Result<()> {
        let (nodes, entries) = (self.num_nodes() as u64, self.neighbours.len() as u64);
        check_memory(nodes, entries, self.quantities, memory)
    }

    /// The partition of each node.
    pub(crate) fn partition(self, num_parts: usize, seed: u64) -> Result<Vec<u16>> {
        let nodes = self.num_nodes();
        if num_parts <= 1 || nodes == 0 {
            return Ok(vec![0; nodes]);
        }
        let parts = self.run(num_parts as i32, (seed & 0x7fff_ffff) as i32, nodes)?;
        Ok(parts.into_iter().map(|part| part as u16).collect())
    }

    fn run(mut self, num_parts: i32, seed: i32, nodes: usize) -> Result<Vec<i32>> {
        let (node_weights, constraints) =
            scaled(&std::mem::take(&mut self.node_weights), self.quantities);
        let sum: u64 = self.weights.iter().map(|&weight| u64::from(weight)).sum();
        let divisor = sum.div_ceil(MAX_SUM).max(1) as u32;
        let weights = std::mem::take(&mut self.weights).into_iter();
        let weights: Vec<i32> = weights.map(|weight| (weight / divisor).max(1) as i32).collect();
        let tolerance = vec![TOLERANCE as f32; constraints];
        let failed = |e: &dyn std::fmt::Display| Error::internal(format!("METIS: {e}"));
        let graph =
            metis::Graph::new(constraints as i32, num_parts, &self.starts, &self.neighbours);
        let mut graph = graph
            .map_err(|e| failed(&e))?
            .set_vwgt(&node_weights)
            .set_ubvec(&tolerance)
            .set_option(Seed(seed));
        if !weights.is_empty() {
            graph = graph.set_adjwgt(&weights);
        }
        let outcome = in_child("METIS", nodes, |parts| match graph.part_kway(parts) {
            Ok(_) => DONE,
            Err(metis::Error::Memory) => NO_MEMORY,
            Err(_) => FAILED,
        })?;
        match outcome.code {
            Some(DONE) => Ok(outcome.values),
            Some(FAILED) => Err(Error::internal("METIS refused the graph")),
            // The kernel kills the child when memory runs out.
            _ => {
                Err(Error::config("method", "METIS ran out of memory")
                    .with_hint("use ‹method=stream›"))
            }
        }
    }
}

/// Weights scaled to 32 bits, node by node, and the number of weights per node. Weights that are zero everywhere are
/// left out.
fn scaled(weights: &[u64], quantities: usize) -> (Vec<i32>, usize) {
    let mut sums = vec![0u64; quantities];
    for node in weights.chunks(quantities) {
        sums.iter_mut().zip(node).for_each(|(sum, weight)| *sum += weight);
    }
    let used: Vec<(usize, u64)> = (0..quantities)
        .filter(|&at| sums[at] > 0)
        .map(|at| (at, sums[at].div_ceil(MAX_SUM)))
        .collect();
    let values = weights.chunks(quantities).flat_map(|node| {
        used.iter().map(|&(at, divisor)| (node[at] / divisor).max(u64::from(node[at] > 0)) as i32)
    });
    (values.collect(), used.len())
}

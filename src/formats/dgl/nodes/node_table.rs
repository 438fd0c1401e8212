//! The mapping from local to global node ids.

use super::relabel;
use crate::formats::dgl::blocks;
use crate::formats::dgl::config::PartitionConfig;
use crate::formats::dgl::structure::local_graph::LocalGraph;
use crate::words::error::{Error, Result};
use std::ops::Range;

/// Global id of every local node. DGL puts inner nodes first and in order, so only halo nodes take memory.
#[derive(Clone, Debug)]
pub(crate) struct NodeTable {
    own: Range<u64>,
    /// Number of inner nodes, in order, at the start of the local nodes.
    prefix: u64,
    /// Global ids of the other local nodes.
    others: Vec<u64>,
}

impl NodeTable {
    /// Reads and checks the ids: the inner nodes must be exactly those of the partition, in ascending order, and the
    /// others must belong to other partitions.
    pub(crate) fn load(config: &PartitionConfig, part: usize, graph: &LocalGraph) -> Result<Self> {
        let book = config.book();
        let own = book.node_range(part);
        let owned = own.end - own.start;
        // Opening the file has checked that there are at least `owned` nodes.
        let halo = graph.num_nodes.saturating_sub(owned) as usize;
        let relabelled = relabelled_ids(config, graph)?;
        let mut table = NodeTable { own, prefix: 0, others: Vec::with_capacity(halo) };
        let (mut ids, mut mask) = (Vec::new(), Vec::new());
        let mut found = 0;
        for rows in blocks::ranges(graph.num_nodes) {
            match &relabelled {
                Some(all) => {
                    ids.clear();
                    ids.extend_from_slice(&all[rows.start as usize..rows.end as usize]);
                }
                None => blocks::read(&graph.nodes.id, rows.clone(), &mut ids)?,
            }
            blocks::read_optional(graph.nodes.inner.as_ref(), rows.clone(), &mut mask)?;
            for (at, (&id, row)) in ids.iter().zip(rows).enumerate() {
                let marked = match &graph.nodes.inner {
                    Some(column) => Some(blocks::truth(column, row, mask[at])?),
                    None => None,
                };
                let inner = table.own.contains(&id);
                if id >= book.num_nodes() {
                    let problem =
                        format!("row {row} is {id}, but the graph has {} nodes", book.num_nodes());
                    return Err(graph.nodes.id.fail(problem));
                }
                if marked.is_some_and(|marked| marked != inner) {
                    return Err(misplaced(graph, row, id, &table.own));
                }
                table.push(graph, row, id, inner, &mut found)?;
            }
        }
        if found != owned {
            let problem = format!("{found} inner nodes are stored, but the partition owns {owned}");
            return Err(graph.nodes.id.fail(problem));
        }
        Ok(table)
    }

    /// Global id of a local node; `None` if the node does not exist.
    pub(crate) fn global(&self, local: u64) -> Option<u64> {
        match local.checked_sub(self.prefix) {
            None => Some(self.own.start + local),
            Some(other) => self.others.get(usize::try_from(other).ok()?).copied(),
        }
    }

    /// Whether the inner nodes come before all others.
    pub(crate) fn is_inner_first(&self) -> bool {
        self.prefix == self.own.end - self.own.start
    }

    /// Global ids of the halo nodes in file order.
    pub(crate) fn into_halo(self) -> Vec<u64> {
        let own = self.own;
        self.others.into_iter().filter(|id| !own.contains(id)).collect()
    }

    /// Index of a global id among the inner nodes; `None` for halo nodes.
    pub(crate) fn inner_index(&self, global: u64) -> Option<u64> {
        self.own.contains(&global).then(|| global - self.own.start)
    }

    fn push(
        &mut self,
        graph: &LocalGraph,
        row: u64,
        id: u64,
        inner: bool,
        found: &mut u64,
    ) -> Result<()> {
        if inner {
            let due = self.own.start + *found;
            if id != due {
                return Err(graph
                    .nodes
                    .id
                    .fail(format!("row {row} is inner node {id}, but must be {due}"))
                    .with_hint(
                        "inner nodes must ascend by id, because feature rows follow that order",
                    ));
            }
            *found += 1;
        }
        if inner && row == self.prefix {
            self.prefix += 1;
        } else {
            self.others.push(id);
        }
        Ok(())
    }
}

/// All node ids in the new numbering, for directories with original ids.
fn relabelled_ids(config: &PartitionConfig, graph: &LocalGraph) -> Result<Option<Vec<u64>>> {
    let Some(maps) = config.original() else { return Ok(None) };
    let mut ids = Vec::new();
    blocks::read(&graph.nodes.id, 0..graph.num_nodes, &mut ids)?;
    let book = config.book();
    relabel::nodes(&maps.nodes, |part| book.node_range(part), book.num_parts(), &mut ids)?;
    Ok(Some(ids))
}

fn misplaced(graph: &LocalGraph, row: u64, id: u64, own: &Range<u64>) -> Error {
    let (is, marked) = if own.contains(&id) { ("inside", "halo") } else { ("outside", "inner") };
    let (start, end) = (own.start, own.end);
    graph.nodes.id.fail(format!(
        "row {row} is node {id}, {is} this partition's [{start}, {end}), but marked as {marked}"
    ))
}

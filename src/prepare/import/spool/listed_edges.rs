//! Edges of splits.

use std::collections::HashMap;

use crate::load::MASKS;
use crate::prepare::import::tables::mask_name;
use crate::words::error::{Error, Result};
use crate::words::size::size;

/// Memory per edge: its entry in the map and its place in the order, while both move to twice the room.
const PER_EDGE: u64 = 144;

/// An edge: its type and its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Edge {
    etype: u32,
    ends: [u64; 2],
}

/// An edge's mask, and whether the files of edges have it.
#[derive(Clone, Copy, Debug)]
struct Listed {
    mask: u8,
    is_found: bool,
}

/// Edges that the files of splits list. An edge in several splits belongs to the last of them.
pub(crate) struct ListedEdges {
    /// Names of the masks, numbered from 1.
    pub(super) masks: Vec<String>,
    edges: HashMap<Edge, Listed>,
    /// Ends of each type's edges, in the order of the lists.
    order: Vec<Vec<[u64; 2]>>,
    /// Number of edges missing from the files of edges.
    added: u64,
    /// Number of edges in several splits.
    repeated: u64,
    /// Whether an edge is also its reverse.
    undirected: bool,
    limit: u64,
}

impl ListedEdges {
    /// An empty list for splits with these names. Training splits come first, test splits last.
    pub(crate) fn new<'n>(
        names: impl Iterator<Item = &'n str>,
        undirected: bool,
        limit: u64,
    ) -> Self {
        let mut masks: Vec<String> = names.map(mask_name).collect();
        let [train, _, test] = MASKS;
        let order = |mask: &String| match mask.as_str() {
            mask if mask == train => 0,
            mask if mask == test => 2,
            _ => 1,
        };
        masks.sort_by_key(|mask| (order(mask), mask.clone()));
        masks.dedup();
        let (edges, order) = (HashMap::new(), Vec::new());
        ListedEdges { masks, edges, order, added: 0, repeated: 0, undirected, limit }
    }

    /// The number of a split's mask.
    pub(crate) fn mask(&self, split: &str) -> u8 {
        let name = mask_name(split);
        self.masks.iter().position(|mask| *mask == name).map_or(0, |at| at as u8 + 1)
    }

    /// Adds an edge.
    pub(crate) fn push(&mut self, etype: u32, ends: [u64; 2], mask: u8) -> Result<()> {
        let edge = Edge { etype, ends };
        let known = self.key(edge);
        if let Some(known) = known.and_then(|edge| self.edges.get_mut(&edge)) {
            self.repeated += u64::from(known.mask != mask);
            known.mask = known.mask.max(mask);
            return Ok(());
        }
        if (self.edges.len() as u64 + 1) * PER_EDGE > self.limit {
            let problem = format!(
                "the edges of splits, more than {}, do not fit in {}",
                self.edges.len(),
                size(self.limit)
            );
            return Err(Error::config("memory", problem).with_hint(
                "allow more memory, or pass the training edges as ‹edges=FILE›: those that no split lists are trained on",
            ));
        }
        self.edges.insert(edge, Listed { mask, is_found: false });
        let types = self.order.len().max(etype as usize + 1);
        self.order.resize(types, Vec::new());
        self.order[etype as usize].push(ends);
        Ok(())
    }

    /// The key of a listed edge that equals this edge.
    fn key(&self, edge: Edge) -> Option<Edge> {
        let reverse = Edge { ends: [edge.ends[1], edge.ends[0]], ..edge };
        let all = [Some(edge), self.undirected.then_some(reverse)];
        all.into_iter().flatten().find(|edge| self.edges.contains_key(edge))
    }

    /// Finds the mask of an edge from the files of edges; 0 if no split lists it.
    pub(crate) fn find(&mut self, etype: u32, ends: [u64; 2]) -> u8 {
        let key = self.key(Edge { etype, ends });
        key.and_then(|key| self.edges.get_mut(&key)).map_or(0, |listed| {
            listed.is_found = true;
            listed.mask
        })
    }

    /// Calls `take` with ends and mask of each edge of a type that was not found; returns their number.
    pub(super) fn others(
        &mut self,
        etype: u32,
        mut take: impl FnMut([u64; 2], u8) -> Result<()>,
    ) -> Result<u64> {
        let mut count = 0;
        for &ends in self.order.get(etype as usize).into_iter().flatten() {
            if let Some(Listed { mask, is_found: false }) = self.edges.get(&Edge { etype, ends }) {
                take(ends, *mask)?;
                count += 1;
            }
        }
        self.added += count;
        Ok(count)
    }

    /// A note on the splits, once the edges of all types have been looked up.
    pub(super) fn note(&self) -> String {
        let (all, others) = (self.edges.len() as u64, self.added);
        let repeated = match self.repeated {
            0 => String::new(),
            count => format!("; {count} are in several splits and count for the last of them"),
        };
        format!(
            "splits list {all} edges ({}): {} of the files of edges, and {others} that are added{repeated}",
            self.masks.join(", "),
            all - others
        )
    }
}

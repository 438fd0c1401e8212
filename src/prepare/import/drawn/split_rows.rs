//! Rows that a split divides, and their order.

use crate::formats::dgl::blocks;
use crate::kernels::philox4x32;
use crate::prepare::import::graph::RawEdges;
use crate::prepare::import::tables::Table;
use crate::words::error::Result;

use super::part_ends::key_of;

pub(crate) enum RowOrder<'a> {
    /// Random, of nodes.
    Nodes { seed: u64 },
    /// Random, of the edges of a type. All edges between two nodes, in either direction, are in one place.
    Edges { seed: u64, edges: &'a RawEdges, etype: usize },
    /// By values, one for each row.
    Values(&'a Table),
}

/// All nodes or all edges of a type.
pub(crate) struct DividedRows<'a> {
    /// Number of rows.
    pub(crate) count: u64,
    pub(crate) order: RowOrder<'a>,
    /// Labels of nodes; nodes without a label are in no part.
    pub(crate) labels: Option<&'a Table>,
}

impl DividedRows<'_> {
    /// Calls `take` with the key of each row, which determines its place in the order, or `None` for a row that is in
    /// no part.
    pub(super) fn keys(&self, take: &mut dyn FnMut(Option<u64>) -> Result<()>) -> Result<()> {
        if let RowOrder::Edges { seed, edges, etype } = self.order {
            return edges.read(etype, |_, block| {
                block.iter().try_for_each(|ends| take(Some(key_of_pair(*ends, seed))))
            });
        }
        let (mut values, mut labels) = (Vec::new(), Vec::new());
        for rows in blocks::ranges(self.count) {
            if let RowOrder::Values(table) = self.order {
                table.read_f64(rows.clone(), &mut values)?;
            }
            if let Some(table) = self.labels {
                table.read_f64(rows.clone(), &mut labels)?;
            }
            for (at, row) in rows.enumerate() {
                let key = match self.order {
                    RowOrder::Nodes { seed } => Some(draw([row, 0], seed)),
                    _ => key_of(values[at]),
                };
                let is_labelled = labels.get(at).is_none_or(|label| self.is_label(*label));
                take(key.filter(|_| is_labelled))?;
            }
        }
        Ok(())
    }

    /// Whether a label is one: not NaN, and not negative if it is the number of a class.
    fn is_label(&self, label: f64) -> bool {
        let is_class = self.labels.is_some_and(|labels| labels.dtype().is_integer());
        if is_class { label >= 0.0 } else { !label.is_nan() }
    }
}

/// Key of an edge; equal for its reverse.
fn key_of_pair([a, b]: [u64; 2], seed: u64) -> u64 {
    let [low, high] = draw_pair([a.min(b), 0], seed);
    let [key, _] = draw_pair([a.max(b) ^ low, high], seed);
    key
}

fn draw(counter: [u64; 2], seed: u64) -> u64 {
    draw_pair(counter, seed)[0]
}

fn draw_pair([low, high]: [u64; 2], seed: u64) -> [u64; 2] {
    let halves = |word: u64| [word as u32, (word >> 32) as u32];
    let ([a, b], [c, d]) = (halves(low), halves(high));
    let [a, b, c, d] = philox4x32([a, b, c, d], halves(seed)).map(u64::from);
    [a << 32 | b, c << 32 | d]
}

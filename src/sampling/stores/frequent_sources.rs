//! The most frequent sources in samples.

use std::collections::BTreeMap;

use super::dist_graph::DistGraph;
use super::graph_source::GraphSource;
use crate::words::error::Result;

/// Number of nodes whose degrees are read at a time.
const CHUNK: u64 = 1 << 16;

impl DistGraph {
    /// The `count` nodes with the most out-edges (homogeneous ids, ascending), or all nodes with out-edges if there are
    /// fewer. Ties go to the lowest ids. Memory is proportional to `count`.
    ///
    /// # Errors
    /// If an index cannot be read.
    pub fn most_frequent_sources(&self, count: usize) -> Result<Vec<u64>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut by_degree = BTreeMap::<u64, usize>::new();
        self.each_out_degree(|_, degree| *by_degree.entry(degree).or_default() += 1)?;
        by_degree.remove(&0);
        // All nodes above the least degree are taken, and some of the nodes with that degree.
        let (mut least, mut of_least) = (1, 0);
        let mut left = count;
        for (&degree, &nodes) in by_degree.iter().rev() {
            (least, of_least) = (degree, left.min(nodes));
            left -= of_least;
            if left == 0 {
                break;
            }
        }
        let mut frequent = Vec::with_capacity(count - left);
        self.each_out_degree(|node, degree| {
            if degree > least || (degree == least && of_least > 0) {
                of_least -= usize::from(degree == least);
                frequent.push(node);
            }
        })?;
        Ok(frequent)
    }

    fn each_out_degree(&self, mut visit: impl FnMut(u64, u64)) -> Result<()> {
        let num_nodes = self.book().num_nodes();
        for first in (0..num_nodes).step_by(CHUNK as usize) {
            let nodes: Vec<u64> = (first..num_nodes.min(first + CHUNK)).collect();
            let degrees = self.out_degrees(&nodes)?;
            nodes.into_iter().zip(degrees).for_each(|(node, degree)| visit(node, degree));
        }
        Ok(())
    }
}

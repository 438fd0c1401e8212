//! Quantities balanced over partitions: nodes of each class, edges, training nodes.

use std::collections::BTreeSet;

use crate::graph::Bitmap;
use crate::prepare::import::{RawGraph, nearest};
use crate::words::error::{Error, Result};

/// Largest number of node classes balanced separately: with each, METIS slows down and cuts more edges.
const MOST_CLASSES: usize = 32;

/// Each node's weight in each balanced quantity: one quantity per node class, then edges, then training nodes.
pub(super) struct Balance<'a> {
    classes: Classes,
    num_classes: usize,
    train: Option<&'a Bitmap>,
}

/// The class of each node.
enum Classes {
    /// End of each node type's range of homogeneous ids.
    OfTypes(Vec<u64>),
    /// A class per node.
    OfNodes(Vec<u8>),
}

impl<'a> Balance<'a> {
    /// Makes a class per node type, or with `key` per value of this node data within a type, as DGL's `balance_ntypes`.
    pub(super) fn new(
        graph: &RawGraph,
        key: Option<&str>,
        train: Option<&'a Bitmap>,
    ) -> Result<Self> {
        let Some(key) = key else {
            // With many types, the last ones share a class.
            let mut ends = graph.first_nodes().split_off(1);
            if ends.len() > MOST_CLASSES {
                ends.drain(MOST_CLASSES - 1..ends.len() - 1);
            }
            return Ok(Balance { num_classes: ends.len(), classes: Classes::OfTypes(ends), train });
        };
        let mut classes = Vec::with_capacity(graph.num_nodes() as usize);
        let (mut num_classes, mut found) = (0, false);
        for ntype in &graph.ntypes {
            let Some((_, table)) = ntype.data.iter().find(|(name, _)| name == key) else {
                classes.resize(classes.len() + ntype.count as usize, num_classes as u8);
                num_classes += 1;
                continue;
            };
            found = true;
            let mut values = BTreeSet::new();
            table.each_i64(|_, value| {
                values.insert(value);
                if num_classes + values.len() > MOST_CLASSES { Err(too_many(key)) } else { Ok(()) }
            })?;
            let values: Vec<i64> = values.into_iter().collect();
            table.each_i64(|_, value| {
                let class = num_classes + values.binary_search(&value).unwrap_or_default();
                classes.push(class as u8);
                Ok(())
            })?;
            num_classes += values.len();
        }
        if !found {
            let problem = format!("no type of nodes has the data `{key}`");
            let error = Error::config("balance_ntypes", problem);
            let data = graph.ntypes.iter().flat_map(|ntype| &ntype.data);
            return Err(match nearest(key, data.map(|(name, _)| name.as_str())) {
                Some(near) => error.with_hint(format!("did you mean {near}?")),
                None => error,
            });
        }
        if num_classes > MOST_CLASSES {
            return Err(too_many(key));
        }
        Ok(Balance { classes: Classes::OfNodes(classes), num_classes, train })
    }

    /// Number of quantities.
    pub(super) fn count(&self) -> usize {
        self.num_classes + 2
    }

    /// Number of node classes, whose quantities come first.
    pub(super) fn num_classes(&self) -> usize {
        self.num_classes
    }

    /// Sets `weights` to the weights of a node that owns `edges` edges.
    #[inline]
    pub(super) fn weigh(&self, node: u64, edges: u64, weights: &mut [u64]) {
        let class = match &self.classes {
            Classes::OfTypes(ends) => ends.partition_point(|end| *end <= node),
            Classes::OfNodes(classes) => usize::from(classes[node as usize]),
        };
        weights.fill(0);
        weights[class] = 1;
        weights[self.num_classes] = edges;
        let train = self.train.is_some_and(|train| train.contains(node));
        weights[self.num_classes + 1] = u64::from(train);
    }
}

fn too_many(key: &str) -> Error {
    let problem = format!("`{key}` makes more than {MOST_CLASSES} classes of nodes");
    Error::config("balance_ntypes", problem).with_hint("name data with few different values")
}

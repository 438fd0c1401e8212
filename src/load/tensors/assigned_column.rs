//! Columns of node data that a program assigns, by type.

use std::sync::Arc;

use super::features::Normalize;
use super::node_column::NodeColumn;
use super::row_bytes::RowCounters;
use crate::error::{Error, Result};
use crate::formats::dgl::ArrayRef;
use crate::graph::PartitionBook;
use crate::io::IoCounters;

impl NodeColumn {
    /// A column of the nodes of one type: row i of `rows` belongs to the node whose id in its type is i.
    ///
    /// # Errors
    /// If the number of rows differs from the number of the type's nodes.
    pub(crate) fn of_type(
        book: &Arc<PartitionBook>,
        ntype: usize,
        rows: &ArrayRef,
        counters: IoCounters,
    ) -> Result<Self> {
        let lacks = || {
            let name = book.ntypes().get(ntype).map_or("unknown", String::as_str);
            let problem = format!("{} rows do not fit the nodes of type {name}", rows.num_rows());
            Error::config("node data", problem)
        };
        let mut arrays = Vec::new();
        let mut first = 0;
        for part in 0..book.num_parts() {
            let nodes = book.node_type_range(part, ntype);
            let end = first + (nodes.end - nodes.start);
            let mut of_types = vec![None; book.ntypes().len()];
            of_types[ntype] = Some(rows.rows(first..end).ok_or_else(lacks)?);
            arrays.push(of_types);
            first = end;
        }
        if first != rows.num_rows() {
            return Err(lacks());
        }
        Ok(NodeColumn {
            book: book.clone(),
            arrays,
            width: rows.row_len(),
            integers: rows.dtype().is_integer(),
            normalize: Normalize::None,
            finite: false,
            first_classes: Vec::new(),
            only: (book.ntypes().len() > 1).then_some(ntype),
            counters,
            bytes: RowCounters::default(),
            cache: Arc::default(),
        })
    }

    /// This column, with the other one's rows for the other one's node type.
    ///
    /// # Errors
    /// If the two differ in width, or in whether they hold integers.
    pub(crate) fn with_type(&self, other: &Self) -> Result<Self> {
        if (self.width, self.integers) != (other.width, other.integers) {
            let kind = |column: &Self| if column.integers { "integers" } else { "numbers" };
            let problem = format!(
                "{} {} per node, but other types of nodes have {} {}",
                other.width,
                kind(other),
                self.width,
                kind(self)
            );
            return Err(Error::config("node data", problem));
        }
        let pairs = self.arrays.iter().zip(&other.arrays);
        let joined = pairs.map(|(own, others)| {
            let of_types = own.iter().zip(others);
            of_types.map(|(own, other)| other.clone().or_else(|| own.clone())).collect()
        });
        let arrays: Vec<Vec<Option<ArrayRef>>> = joined.collect();
        let has = |ntype: usize| arrays.iter().any(|of_types| of_types[ntype].is_some());
        let types: Vec<usize> = (0..self.book.ntypes().len()).filter(|t| has(*t)).collect();
        let only = match types[..] {
            [ntype] if self.book.ntypes().len() > 1 => Some(ntype),
            _ => None,
        };
        let (bytes, cache) = (RowCounters::default(), Arc::default());
        Ok(NodeColumn { arrays, only, bytes, cache, ..self.clone() })
    }
}

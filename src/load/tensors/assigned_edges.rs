//! Edge features that a program assigns, by type.

use std::sync::Arc;

use super::edge_features::EdgeFeatures;
use crate::error::{Error, Result};
use crate::formats::dgl::ArrayRef;
use crate::graph::PartitionBook;
use crate::io::IoCounters;

impl EdgeFeatures {
    /// Features of the edges of one type: row i of `rows` belongs to the edge whose id in its type is i.
    ///
    /// # Errors
    /// If the number of rows differs from the number of the type's edges.
    pub(crate) fn of_rows(
        book: &Arc<PartitionBook>,
        etype: usize,
        rows: &ArrayRef,
        counters: IoCounters,
    ) -> Result<Self> {
        let lacks = || {
            let name = book.etypes().get(etype).map_or("unknown".to_owned(), ToString::to_string);
            let problem = format!("{} rows do not fit the edges of type {name}", rows.num_rows());
            Error::config("edge data", problem)
        };
        let mut tables = Vec::new();
        let mut first = 0;
        for part in 0..book.num_parts() {
            let edges = book.edge_type_range(part, etype);
            let end = first + (edges.end - edges.start);
            let mut of_types = vec![None; book.etypes().len()];
            *of_types.get_mut(etype).ok_or_else(lacks)? =
                Some(rows.rows(first..end).ok_or_else(lacks)?);
            tables.push(of_types);
            first = end;
        }
        if first != rows.num_rows() {
            return Err(lacks());
        }
        let only = (book.etypes().len() > 1).then_some(etype);
        Ok(EdgeFeatures { book: book.clone(), tables, width: rows.row_len(), only, counters })
    }

    /// These features, with the other ones' rows for the other ones' edge types.
    ///
    /// # Errors
    /// If the two differ in width.
    pub(crate) fn with_types(&self, other: &Self) -> Result<Self> {
        if self.width != other.width {
            let problem = format!(
                "{} numbers per edge, but other types of edges have {}",
                other.width, self.width
            );
            return Err(Error::config("edge data", problem)
                .with_hint("read the features of one edge type with edata_of_type"));
        }
        let parts = self.tables.iter().zip(&other.tables).map(|(own, others)| {
            let of_types = own.iter().zip(others);
            of_types.map(|(own, other)| own.clone().or_else(|| other.clone())).collect()
        });
        Ok(EdgeFeatures { tables: parts.collect(), only: None, ..self.clone() })
    }
}

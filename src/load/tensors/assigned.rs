//! Rows of nodes and edges that a program assigns, by type.

use std::ops::Range;
use std::sync::Arc;

use super::edge_features::EdgeFeatures;
use super::features::Normalize;
use super::node_column::NodeColumn;
use super::row_bytes::RowCounters;
use crate::formats::dgl::ArrayRef;
use crate::graph::PartitionBook;
use crate::io::IoCounters;
use crate::words::error::{Error, Result};

impl NodeColumn {
    /// A column of the nodes of one type: row i of `rows` belongs to the node whose id in its type is i.
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
        let nodes = (0..book.num_parts()).map(|part| book.node_type_range(part, ntype));
        let arrays = by_part(rows, nodes, ntype, book.ntypes().len()).ok_or_else(lacks)?;
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

impl EdgeFeatures {
    /// Features of the edges of one type: row i of `rows` belongs to the edge whose id in its type is i.
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
        let edges = (0..book.num_parts()).map(|part| book.edge_type_range(part, etype));
        let tables = by_part(rows, edges, etype, book.etypes().len()).ok_or_else(lacks)?;
        let only = (book.etypes().len() > 1).then_some(etype);
        Ok(EdgeFeatures { book: book.clone(), tables, width: rows.row_len(), only, counters })
    }

    /// These features, with the other ones' rows for the other ones' edge types.
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

/// Rows of a type, as arrays by partition and type; `ids` are the ids of the type in each partition. `None` if the type does
/// not exist, or if the number of ids differs from the number of rows.
fn by_part(
    rows: &ArrayRef,
    ids: impl Iterator<Item = Range<u64>>,
    of_type: usize,
    num_types: usize,
) -> Option<Vec<Vec<Option<ArrayRef>>>> {
    let mut first = 0;
    let parts = ids.map(|ids| {
        let begin = first;
        first += ids.end - ids.start;
        let mut of_types = vec![None; num_types];
        *of_types.get_mut(of_type)? = Some(rows.rows(begin..first)?);
        Some(of_types)
    });
    let parts = parts.collect::<Option<_>>()?;
    (first == rows.num_rows()).then_some(parts)
}

//! Arrays with a row per node or per edge of the whole graph.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::row_reads::{Together, read_rows};
use crate::formats::dgl::ArrayRef;
use crate::graph::{IdRanges, PartitionBook};
use crate::io::IoCounters;
use crate::words::error::{Error, Result};

/// Limits for rows in any places. The bytes are still in the processor's cache when they are copied.
const SCATTERED: Together = Together { gap: 512, most: 256 << 10 };

/// A feature of nodes or of edges, in the partitions' own files or in a program's tensor.
#[derive(Debug, Clone)]
pub(super) struct RowTables {
    pub(super) book: Arc<PartitionBook>,
    pub(super) owners: RowOwners,
    /// Arrays by partition and type; empty for partitions whose files are not reachable.
    pub(super) arrays: Vec<Vec<Option<ArrayRef>>>,
    /// Number of columns.
    pub(super) width: u64,
    /// The type of the feature, if it belongs to one type only.
    pub(super) only: Option<usize>,
    pub(super) counters: IoCounters,
}

/// The owners of rows.
#[derive(Debug, Clone, Copy)]
pub(super) enum RowOwners {
    Nodes,
    Edges,
}

impl RowOwners {
    fn ids(self, book: &PartitionBook) -> &IdRanges {
        match self {
            RowOwners::Nodes => book.node_ids(),
            RowOwners::Edges => book.edge_ids(),
        }
    }

    /// The word for one of them.
    fn word(self) -> &'static str {
        match self {
            RowOwners::Nodes => "node",
            RowOwners::Edges => "edge",
        }
    }

    fn type_name(self, book: &PartitionBook, ty: usize) -> String {
        let name = match self {
            RowOwners::Nodes => book.ntypes().get(ty).cloned(),
            RowOwners::Edges => book.etypes().get(ty).map(ToString::to_string),
        };
        name.unwrap_or_else(|| "unknown".to_owned())
    }
}

impl RowTables {
    /// The rows of one type: row i of `rows` belongs to the node or edge whose id in its type is i.
    pub(super) fn of_type(
        book: &Arc<PartitionBook>,
        owners: RowOwners,
        ty: usize,
        rows: &ArrayRef,
        counters: IoCounters,
    ) -> Result<Self> {
        let ids = owners.ids(book);
        let mut first = 0;
        let parts = (0..ids.num_parts()).map(|part| {
            let (begin, own) = (first, ids.type_range(part, ty));
            first += own.end - own.start;
            let mut of_types = vec![None; ids.num_types()];
            *of_types.get_mut(ty)? = Some(rows.rows(begin..first)?);
            Some(of_types)
        });
        let arrays: Option<Vec<_>> = parts.collect();
        let Some(arrays) = arrays.filter(|_| first == rows.num_rows()) else {
            let (word, name) = (owners.word(), owners.type_name(book, ty));
            let problem = format!("{} rows do not fit the {word}s of type {name}", rows.num_rows());
            return Err(Error::config(&format!("{word} data"), problem));
        };
        let only = (ids.num_types() > 1).then_some(ty);
        let (book, width) = (book.clone(), rows.row_len());
        Ok(RowTables { book, owners, arrays, width, only, counters })
    }

    /// These rows, with the other ones' rows for the other ones' types.
    pub(super) fn joined(&self, other: &Self) -> Self {
        let parts = self.arrays.iter().zip(&other.arrays).map(|(own, others)| {
            let of_types = own.iter().zip(others);
            of_types.map(|(own, other)| other.clone().or_else(|| own.clone())).collect()
        });
        let arrays: Vec<Vec<Option<ArrayRef>>> = parts.collect();
        let num_types = self.owners.ids(&self.book).num_types();
        let has = |ty: &usize| arrays.iter().any(|of_types| of_types[*ty].is_some());
        let only = match (0..num_types).filter(has).collect::<Vec<_>>()[..] {
            [ty] if num_types > 1 => Some(ty),
            _ => None,
        };
        RowTables { arrays, only, ..self.clone() }
    }

    /// The nodes or edges among `ids` (global ids) to which the feature belongs.
    pub(super) fn covered<'i>(&self, ids: &'i [u64]) -> Cow<'i, [u64]> {
        let all = self.owners.ids(&self.book);
        match self.only {
            None => Cow::Borrowed(ids),
            only => ids.iter().copied().filter(|id| all.type_of(*id) == only).collect(),
        }
    }

    /// Reads the rows of ids, each paired with its row in `out`, and returns the number of bytes read. Rows of types
    /// without the feature are filled with `missing`; without it, they are an error.
    pub(super) fn gather<T: Copy + Default>(
        &self,
        mut order: Vec<(u64, u32)>,
        out: &mut [T],
        missing: Option<T>,
        read: impl Fn(&ArrayRef, Range<u64>, &mut [T]) -> Result<()>,
    ) -> Result<u64> {
        let width = self.width as usize;
        order.sort_unstable();
        let (mut rest, mut all_bytes) = (&order[..], 0);
        while let Some((first, _)) = rest.first() {
            let (ids, array) = self.table(*first, missing.is_some())?;
            let (wanted, others) = rest.split_at(rest.partition_point(|(id, _)| *id < ids.end));
            rest = others;
            let Some(array) = array else {
                for (_, i) in wanted {
                    out[*i as usize * width..][..width].fill(missing.unwrap_or_default());
                }
                continue;
            };
            let (row, place) =
                (|i: usize| wanted[i].0 - ids.start, |i: usize| wanted[i].1 as usize);
            let rows = |rows, out: &mut [T]| read(array, rows, out);
            let bytes = read_rows(array, SCATTERED, wanted.len(), row, place, out, rows)?;
            self.counters.read(bytes);
            all_bytes += bytes;
        }
        Ok(all_bytes)
    }

    /// Ids of the partition and type of a node or edge, and the array with their rows.
    fn table(&self, id: u64, may_lack: bool) -> Result<(Range<u64>, Option<&ArrayRef>)> {
        let (ids, word) = (self.owners.ids(&self.book), self.owners.word());
        let (part, ty) = ids.part_of(id).zip(ids.type_of(id)).ok_or_else(|| {
            let problem = format!("there is no {word} {id}; ids are below {}", ids.total());
            Error::config("ids", problem)
        })?;
        let failed = |problem: String| Error::config(&format!("{word} features"), problem);
        let Some(array) = self.arrays[part].get(ty) else {
            return Err(failed(format!("the files of partition {part} are not reachable"))
                .with_hint("ask the rank that owns it, with CollectiveGraph"));
        };
        if array.is_none() && !may_lack {
            let name = self.owners.type_name(&self.book, ty);
            return Err(failed(format!("{word}s of type {name} have no such feature")));
        }
        Ok((ids.type_range(part, ty), array.as_ref()))
    }
}

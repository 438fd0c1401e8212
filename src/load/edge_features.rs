//! Features of edges, from the files of partitions.

use std::ops::Range;
use std::sync::Arc;

use tch::{Kind, Tensor};

use super::keys::Role;
use super::reachable::Reachable;
use super::row_reads::read_rows;
use crate::engine::tensor;
use crate::error::{Error, Result};
use crate::formats::dgl::{ArrayRef, open_edge_features};
use crate::graph::PartitionBook;
use crate::io::{Dtype, IoCounters};

/// Number of edges whose rows are read together.
const AT_ONCE: usize = 1 << 19;

const FEATURES: Role<'_> = Role { what: "edge features", field: "keys.edge_features", usual: &[] };

/// A feature of all edges, read row by row from the partitions' own files: one table per partition and edge type, all with the
/// same width.
#[derive(Debug, Clone)]
pub struct EdgeFeatures {
    book: Arc<PartitionBook>,
    /// Tables by partition and edge type; empty for partitions whose files are not reachable.
    tables: Vec<Vec<Option<ArrayRef>>>,
    width: u64,
    counters: IoCounters,
}

impl EdgeFeatures {
    /// Finds the features that `key` selects in every reachable partition; keys are matched as for node features.
    ///
    /// # Errors
    /// If none or several match, edge types lack them or differ in width, or a partition's file does not say which edges its
    /// rows belong to.
    pub fn find<'c>(
        partitions: impl Into<Reachable<'c>>,
        key: &str,
        counters: IoCounters,
    ) -> Result<Self> {
        let partitions = partitions.into();
        let etypes = 0..partitions.config.book().etypes().len();
        Self::of_types(partitions, etypes, key, counters)
    }

    /// Finds the features that `key` selects for one edge type, in every reachable partition.
    ///
    /// # Errors
    /// As for [`find`](Self::find).
    pub fn of_type<'c>(
        partitions: impl Into<Reachable<'c>>,
        etype: usize,
        key: &str,
        counters: IoCounters,
    ) -> Result<Self> {
        Self::of_types(partitions.into(), etype..etype + 1, key, counters)
    }

    fn of_types(
        Reachable { config, parts }: Reachable<'_>,
        etypes: Range<usize>,
        key: &str,
        counters: IoCounters,
    ) -> Result<Self> {
        let book = config.book();
        let mut tables = vec![Vec::new(); config.parts().len()];
        let mut width = None;
        for part in parts {
            let set = open_edge_features(config, part)?;
            for (etype, feature) in FEATURES.require(&set, Some(key))?.into_iter().enumerate() {
                if !etypes.contains(&etype) {
                    tables[part].push(None);
                    continue;
                }
                if feature.is_none() && !book.edge_type_range(part, etype).is_empty() {
                    let problem = format!("edge type {} has no such feature", book.etypes()[etype]);
                    return Err(Error::input(set.path(), key, problem)
                        .with_hint("all edge types need it, with one width"));
                }
                if let Some(feature) = feature {
                    let this = feature.array().row_len();
                    let first = *width.get_or_insert(this);
                    if first != this {
                        let problem =
                            format!("has {this} columns, but others of the graph have {first}");
                        return Err(Error::input(set.path(), feature.key(), problem)
                            .with_hint("all partitions and edge types need one width"));
                    }
                }
                tables[part].push(feature.map(|feature| feature.array().clone()));
            }
        }
        Ok(EdgeFeatures { book: book.clone(), tables, width: width.unwrap_or(0), counters })
    }

    /// Number of columns.
    pub fn width(&self) -> i64 {
        self.width as i64
    }

    /// Element type in the files.
    pub fn dtype(&self) -> Dtype {
        let first = self.tables.iter().flatten().flatten().next();
        first.map_or(Dtype::F32, ArrayRef::dtype)
    }

    /// Reads the rows of edges (global ids, in any order, repetitions allowed) as `kind` (float or double), `[edges.len(),
    /// width]`. Neighbouring rows are read together.
    ///
    /// # Errors
    /// If an edge does not exist or belongs to a partition that is not reachable, a file cannot be read, or a value is not
    /// finite.
    pub fn read(&self, edges: &[u64], kind: Kind) -> Result<Tensor> {
        let mut values = tensor::empty(&[edges.len() as i64, self.width()], kind)?;
        if kind == Kind::Double {
            let read = |table: &ArrayRef, rows, out: &mut [f64]| table.read_finite_f64(rows, out);
            self.gather(edges, &mut tensor::slice_mut(&mut values), &read)?;
        } else {
            let read = |table: &ArrayRef, rows, out: &mut [f32]| table.read_finite_f32(rows, out);
            self.gather(edges, &mut tensor::slice_mut(&mut values), &read)?;
        }
        Ok(values)
    }

    fn gather<T: Copy + Default>(
        &self,
        edges: &[u64],
        out: &mut [T],
        read: &impl Fn(&ArrayRef, Range<u64>, &mut [T]) -> Result<()>,
    ) -> Result<()> {
        let parts = out.chunks_mut((AT_ONCE * self.width as usize).max(1));
        edges
            .chunks(AT_ONCE)
            .zip(parts)
            .try_for_each(|(edges, out)| self.gather_some(edges, out, read))
    }

    fn gather_some<T: Copy + Default>(
        &self,
        edges: &[u64],
        out: &mut [T],
        read: &impl Fn(&ArrayRef, Range<u64>, &mut [T]) -> Result<()>,
    ) -> Result<()> {
        let mut order: Vec<(u64, u32)> = edges.iter().copied().zip(0..).collect();
        order.sort_unstable();
        let mut rest = &order[..];
        while let Some((edge, _)) = rest.first() {
            let (part, etype) = self.place(*edge)?;
            let ids = self.book.edge_type_range(part, etype);
            let (wanted, others) = rest.split_at(rest.partition_point(|(edge, _)| *edge < ids.end));
            rest = others;
            let table = match self.tables[part].get(etype) {
                Some(Some(table)) => table,
                Some(None) => {
                    let etype = &self.book.etypes()[etype];
                    let problem = format!("edges of type {etype} have no such feature");
                    return Err(Error::config("edge features", problem));
                }
                None => {
                    let problem = format!("the files of partition {part} are not reachable");
                    return Err(Error::config("edge features", problem)
                        .with_hint("ask the rank that owns it, with CollectiveGraph"));
                }
            };
            let bytes =
                read_rows(table, ids.start, wanted, out, |rows, out| read(table, rows, out))?;
            self.counters.read(bytes);
        }
        Ok(())
    }

    /// Partition and type of an edge.
    fn place(&self, edge: u64) -> Result<(usize, usize)> {
        let place = self.book.part_of_edge(edge).zip(self.book.edge_type(edge));
        place.ok_or_else(|| {
            let problem =
                format!("there is no edge {edge}; ids are below {}", self.book.num_edges());
            Error::config("ids", problem)
        })
    }
}

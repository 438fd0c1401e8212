//! Features of edges, from files of partitions.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use tch::{Kind, Tensor};

use super::reachable::Reachable;
use super::row_reads::read_rows;
use crate::engine::tensor;
use crate::formats::dgl::config::PartitionConfig;
use crate::formats::dgl::{ArrayRef, Feature, open_edge_features};
use crate::graph::PartitionBook;
use crate::io::{Dtype, IoCounters};
use crate::load::keys::Role;
use crate::words::error::{Error, Result};

/// Number of edges whose rows are read together.
const AT_ONCE: usize = 1 << 19;

const FEATURES: Role<'_> = Role { what: "edge features", field: "keys.edge_features", usual: &[] };

/// A feature of all edges, or of one edge type, read row by row from the partitions' own files or from a program's
/// tensor: one table per partition and edge type, all of one width.
#[derive(Debug, Clone)]
pub struct EdgeFeatures {
    pub(super) book: Arc<PartitionBook>,
    /// Tables by partition and edge type; empty for partitions whose files are not reachable.
    pub(super) tables: Vec<Vec<Option<ArrayRef>>>,
    pub(super) width: u64,
    /// The edge type of the feature, if it belongs to one type only.
    pub(super) only: Option<usize>,
    pub(super) counters: IoCounters,
}

/// Arrays that a key selects.
struct Found<'c> {
    config: &'c PartitionConfig,
    key: &'c str,
    /// Arrays by partition and edge type; `None` for partitions whose files are not reachable.
    features: Vec<Option<Vec<Option<Feature>>>>,
}

impl<'c> Found<'c> {
    fn open(Reachable { config, parts }: Reachable<'c>, key: &'c str) -> Result<Self> {
        let mut features = vec![None; config.parts().len()];
        for part in parts {
            let set = open_edge_features(config, part)?;
            let found = FEATURES.require(&set, Some(key))?;
            features[part] = Some(found.into_iter().map(Option::<&Feature>::cloned).collect());
        }
        Ok(Found { config, key, features })
    }

    fn num_types(&self) -> usize {
        self.config.book().etypes().len()
    }

    /// The arrays of these edge types, all of which must have one.
    fn of_types(&self, etypes: Range<usize>, counters: IoCounters) -> Result<EdgeFeatures> {
        let book = self.config.book();
        let mut tables = vec![Vec::new(); self.features.len()];
        let mut width = None;
        for (part, found) in self.features.iter().enumerate() {
            let Some(found) = found else { continue };
            let path = &self.config.parts()[part].edge_feats;
            for (etype, feature) in found.iter().enumerate() {
                if !etypes.contains(&etype) {
                    tables[part].push(None);
                    continue;
                }
                if feature.is_none() && !book.edge_type_range(part, etype).is_empty() {
                    let problem = format!("edge type {} has no such feature", book.etypes()[etype]);
                    return Err(Error::input(path, self.key, problem)
                        .with_hint("all edge types need it, with one width"));
                }
                if let Some(feature) = feature {
                    let this = feature.array().row_len();
                    let first = *width.get_or_insert(this);
                    if first != this {
                        let problem =
                            format!("has {this} columns, but others of the graph have {first}");
                        return Err(Error::input(path, feature.key(), problem)
                            .with_hint("all partitions and edge types need one width"));
                    }
                }
                tables[part].push(feature.as_ref().map(|feature| feature.array().clone()));
            }
        }
        let only = (etypes.len() < self.num_types()).then_some(etypes.start);
        let (book, width) = (book.clone(), width.unwrap_or(0));
        Ok(EdgeFeatures { book, tables, width, only, counters })
    }
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
        let found = Found::open(partitions.into(), key)?;
        found.of_types(0..found.num_types(), counters)
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
        Found::open(partitions.into(), key)?.of_types(etype..etype + 1, counters)
    }

    /// Finds the features that `key` selects for each edge type, which may differ in width; `None` for types without such
    /// features.
    ///
    /// # Errors
    /// If no type has them, several match for one type, or partitions differ.
    pub fn by_type<'c>(
        partitions: impl Into<Reachable<'c>>,
        key: &str,
        counters: &IoCounters,
    ) -> Result<Vec<Option<Self>>> {
        let found = Found::open(partitions.into(), key)?;
        let of_type = |etype: usize| {
            let some = found.features.iter().flatten().any(|of_types| of_types[etype].is_some());
            some.then(|| found.of_types(etype..etype + 1, counters.clone())).transpose()
        };
        (0..found.num_types()).map(of_type).collect()
    }

    /// Features of an edge type that has no edges here: a width without rows.
    pub fn none_of_type(
        book: &Arc<PartitionBook>,
        etype: usize,
        width: i64,
        counters: IoCounters,
    ) -> Self {
        let tables = vec![vec![None; book.etypes().len()]; book.num_parts()];
        let only = (book.etypes().len() > 1).then_some(etype);
        EdgeFeatures { book: book.clone(), tables, width: width as u64, only, counters }
    }

    /// The edges among `edges` (global ids) to which the feature belongs.
    pub fn covered<'e>(&self, edges: &'e [u64]) -> Cow<'e, [u64]> {
        match self.only {
            None => Cow::Borrowed(edges),
            only => {
                edges.iter().copied().filter(|edge| self.book.edge_type(*edge) == only).collect()
            }
        }
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

    /// Like [`read`](Self::read), for edges of one type, by their ids within the type.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn read_of_type(&self, etype: usize, edges: &[u64], kind: Kind) -> Result<Tensor> {
        let global = edges.iter().map(|edge| {
            self.book.edge_to_homogeneous(etype, *edge).ok_or_else(|| {
                let problem = format!("there is no edge {edge} of edge type {etype}");
                Error::config("ids", problem)
            })
        });
        self.read(&global.collect::<Result<Vec<_>>>()?, kind)
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

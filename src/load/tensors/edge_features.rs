//! Features of edges, from files of partitions.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use tch::{Kind, Tensor};

use super::reachable::Reachable;
use super::row_tables::{RowOwners, RowTables};
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
    rows: RowTables,
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
        let mut arrays = vec![Vec::new(); self.features.len()];
        let mut width = None;
        for (part, found) in self.features.iter().enumerate() {
            let Some(found) = found else { continue };
            let path = &self.config.parts()[part].edge_feats;
            for (etype, feature) in found.iter().enumerate() {
                if !etypes.contains(&etype) {
                    arrays[part].push(None);
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
                arrays[part].push(feature.as_ref().map(|feature| feature.array().clone()));
            }
        }
        let only = (etypes.len() < self.num_types()).then_some(etypes.start);
        let (book, owners, width) = (book.clone(), RowOwners::Edges, width.unwrap_or(0));
        Ok(EdgeFeatures { rows: RowTables { book, owners, arrays, width, only, counters } })
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
        let arrays = vec![vec![None; book.etypes().len()]; book.num_parts()];
        let only = (book.etypes().len() > 1).then_some(etype);
        let (book, owners, width) = (book.clone(), RowOwners::Edges, width as u64);
        EdgeFeatures { rows: RowTables { book, owners, arrays, width, only, counters } }
    }

    /// Features of the edges of one type: row i of `rows` belongs to the edge whose id in its type is i.
    pub(crate) fn of_rows(
        book: &Arc<PartitionBook>,
        etype: usize,
        rows: &ArrayRef,
        counters: IoCounters,
    ) -> Result<Self> {
        let rows = RowTables::of_type(book, RowOwners::Edges, etype, rows, counters)?;
        Ok(EdgeFeatures { rows })
    }

    /// These features, with the other ones' rows for the other ones' edge types.
    pub(crate) fn with_types(&self, other: &Self) -> Result<Self> {
        let [own, new] = [self.rows.width, other.rows.width];
        if own != new {
            let problem = format!("{new} numbers per edge, but other types of edges have {own}");
            return Err(Error::config("edge data", problem)
                .with_hint("read the features of one edge type with edata_of_type"));
        }
        Ok(EdgeFeatures { rows: self.rows.joined(&other.rows) })
    }

    /// The edges among `edges` (global ids) to which the feature belongs.
    pub fn covered<'e>(&self, edges: &'e [u64]) -> Cow<'e, [u64]> {
        self.rows.covered(edges)
    }

    /// Number of columns.
    pub fn width(&self) -> i64 {
        self.rows.width as i64
    }

    /// Element type in the files.
    pub fn dtype(&self) -> Dtype {
        let first = self.rows.arrays.iter().flatten().flatten().next();
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
            self.rows.book.edge_to_homogeneous(etype, *edge).ok_or_else(|| {
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
        let parts = out.chunks_mut((AT_ONCE * self.rows.width as usize).max(1));
        edges.chunks(AT_ONCE).zip(parts).try_for_each(|(edges, out)| {
            let order = edges.iter().copied().zip(0..).collect();
            self.rows.gather(order, out, None, read).map(drop)
        })
    }
}

//! Rows of a node feature of the whole graph, from the files of all partitions.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::RwLock;
use tch::Tensor;

use super::features::{Normalize, not_normalisable};
use super::labels::UNLABELLED;
use super::reachable::Reachable;
use super::row_bytes::{RowBytes, RowCounters};
use super::row_cache::RowCache;
use super::row_tables::{RowOwners, RowTables};
use crate::engine::array::{ArrayLayout, Elements};
use crate::engine::tensor;
use crate::formats::dgl::{ArrayRef, Feature, FeatureSet, open_node_features};
use crate::graph::PartitionBook;
use crate::io::{Dtype, IoCounters, first_not_finite};
use crate::load::keys::{FEATURES, LABELS, Role};
use crate::words::error::{Error, Result};

/// A feature of all nodes, read row by row from the partitions' own files. Requested rows are sorted, neighbouring ones
/// are read with one call, and no other rows are read. Rows may be [kept](Self::keep) in memory. It can be shared by
/// threads; clones share kept rows.
#[derive(Debug, Clone)]
pub struct NodeColumn {
    rows: RowTables,
    integers: bool,
    normalize: Normalize,
    /// Whether values must be finite, as in features; labels may be NaN.
    finite: bool,
    /// Numbers that are added to each node type's labels; empty for other features.
    first_classes: Vec<i64>,
    bytes: RowCounters,
    cache: Arc<RwLock<Option<Arc<RowCache>>>>,
}

impl NodeColumn {
    /// Input features that `key` (or the usual name) selects, in every reachable partition.
    ///
    /// # Errors
    /// If a partition or a node type has none or several, or they differ in width.
    pub fn features<'c>(
        partitions: impl Into<Reachable<'c>>,
        key: Option<&str>,
        normalize: Normalize,
        counters: IoCounters,
    ) -> Result<Self> {
        let partitions = partitions.into();
        let column = Self::open(partitions.clone(), counters, |set| FEATURES.require(set, key))?;
        column.check_types(partitions, key, 0..column.rows.book.ntypes().len())?;
        Ok(NodeColumn { normalize, finite: true, ..column })
    }

    /// Input features of one node type that `key` (or the usual name) selects.
    ///
    /// # Errors
    /// If a partition has none or several for the type, or they differ in width.
    pub fn features_of_type<'c>(
        partitions: impl Into<Reachable<'c>>,
        ntype: usize,
        key: Option<&str>,
        normalize: Normalize,
        counters: IoCounters,
    ) -> Result<Self> {
        let partitions = partitions.into();
        let mut column = Self::open(partitions.clone(), counters, |set| {
            let mut found = FEATURES.require(set, key)?;
            let others = found.iter_mut().enumerate().filter(|(other, _)| *other != ntype);
            others.for_each(|(_, feature)| *feature = None);
            Ok(found)
        })?;
        column.check_types(partitions, key, ntype..ntype + 1)?;
        column.rows.only = Some(ntype);
        Ok(NodeColumn { normalize, finite: true, ..column })
    }

    /// Checks that these node types have the features in every reachable partition with nodes of the type.
    fn check_types(
        &self,
        Reachable { config, parts }: Reachable<'_>,
        key: Option<&str>,
        mut ntypes: Range<usize>,
    ) -> Result<()> {
        let RowTables { book, arrays, .. } = &self.rows;
        let has = |part: usize, ntype: usize| {
            arrays[part][ntype].is_some() || book.node_type_range(part, ntype).is_empty()
        };
        let lacks = |ntype: usize| {
            let part = parts.clone().find(|part| !has(*part, ntype))?;
            Some((part, ntype))
        };
        let Some((part, ntype)) = ntypes.find_map(lacks) else { return Ok(()) };
        let name = &book.ntypes()[ntype];
        let path = &config.parts()[part].node_feats;
        let problem = format!("node type {name} has no such feature");
        Err(Error::input(path, key.unwrap_or("feat"), problem))
    }

    /// Labels that `key` (or the usual name) selects, in every reachable partition.
    ///
    /// # Errors
    /// If a partition has none or several, or they are not one per node.
    pub fn labels<'c>(
        partitions: impl Into<Reachable<'c>>,
        key: Option<&str>,
        counters: IoCounters,
    ) -> Result<Self> {
        let column = Self::open(partitions.into(), counters, |set| LABELS.require(set, key))?;
        match column.rows.width {
            1 => Ok(NodeColumn { integers: true, ..column }),
            width => {
                let problem = format!("{width} values per node; one class per node is needed");
                Err(Error::config("labels", problem))
            }
        }
    }

    /// The same labels, with the classes of this node type offset by `first`.
    #[must_use]
    pub fn counted_from(mut self, ntype: usize, first: i64) -> Self {
        self.first_classes.resize(self.rows.book.ntypes().len(), 0);
        self.first_classes[ntype] = first;
        self
    }

    /// Rows of labels (multiple classes, or numbers) that `key` (or the usual name) selects, in every partition, as
    /// `float32`.
    ///
    /// # Errors
    /// If a partition has none or several, or they differ in width.
    pub fn targets<'c>(
        partitions: impl Into<Reachable<'c>>,
        key: Option<&str>,
        counters: IoCounters,
    ) -> Result<Self> {
        Self::open(partitions.into(), counters, |set| LABELS.require(set, key))
    }

    /// The feature `key`, in every reachable partition.
    ///
    /// # Errors
    /// If a partition has none or several, or they differ in width.
    pub fn named<'c>(
        partitions: impl Into<Reachable<'c>>,
        key: &str,
        counters: IoCounters,
    ) -> Result<Self> {
        let column = Self::open(partitions.into(), counters, |set| {
            let role = Role { what: "node features", field: "the key", usual: &[] };
            role.require(set, Some(key))
        })?;
        let mut arrays = column.rows.arrays.iter().flatten().flatten();
        let integers = arrays.all(|array| array.num_rows() == 0 || array.dtype().is_integer());
        Ok(NodeColumn { integers, ..column })
    }

    fn open(
        Reachable { config, parts }: Reachable<'_>,
        counters: IoCounters,
        find: impl Fn(&FeatureSet) -> Result<Vec<Option<&Feature>>>,
    ) -> Result<Self> {
        let mut arrays = vec![Vec::new(); config.parts().len()];
        let (mut width, mut bare) = (None, None);
        for part in parts {
            let set = open_node_features(config, part)?;
            let found = find(&set)?;
            for feature in found.iter().flatten() {
                let this = feature.array().row_len();
                // DGL's pipeline writes arrays without rows in another form.
                if feature.array().num_rows() == 0 {
                    bare.get_or_insert(this);
                    continue;
                }
                if *width.get_or_insert(this) != this {
                    let problem = format!(
                        "has {this} columns, but others of the graph have {}",
                        width.unwrap_or(0)
                    );
                    return Err(Error::input(set.path(), feature.key(), problem)
                        .with_hint("all partitions and node types need one width"));
                }
            }
            arrays[part] = found.into_iter().map(|f| f.map(|f| f.array().clone())).collect();
        }
        let (book, width) = (config.book().clone(), width.or(bare).unwrap_or(0));
        let owners = RowOwners::Nodes;
        Ok(Self::of_rows(RowTables { book, owners, arrays, width, only: None, counters }))
    }

    fn of_rows(rows: RowTables) -> Self {
        NodeColumn {
            rows,
            integers: false,
            normalize: Normalize::None,
            finite: false,
            first_classes: Vec::new(),
            bytes: RowCounters::default(),
            cache: Arc::default(),
        }
    }

    /// A column of the nodes of one type: row i of `rows` belongs to the node whose id in its type is i.
    pub(crate) fn of_type(
        book: &Arc<PartitionBook>,
        ntype: usize,
        rows: &ArrayRef,
        counters: IoCounters,
    ) -> Result<Self> {
        let integers = rows.dtype().is_integer();
        let rows = RowTables::of_type(book, RowOwners::Nodes, ntype, rows, counters)?;
        Ok(NodeColumn { integers, ..Self::of_rows(rows) })
    }

    /// This column, with the other one's rows for the other one's node type.
    pub(crate) fn with_type(&self, other: &Self) -> Result<Self> {
        let [own, new] = [self.rows.width, other.rows.width];
        if (own, self.integers) != (new, other.integers) {
            let kind = |column: &Self| if column.integers { "integers" } else { "numbers" };
            let problem = format!(
                "{new} {} per node, but other types of nodes have {own} {}",
                kind(other),
                kind(self)
            );
            return Err(Error::config("node data", problem));
        }
        let (bytes, cache) = (RowCounters::default(), Arc::default());
        Ok(NodeColumn { rows: self.rows.joined(&other.rows), bytes, cache, ..self.clone() })
    }

    /// Number of values per node.
    pub fn width(&self) -> usize {
        self.rows.width as usize
    }

    /// Bytes of rows that were requested so far, and bytes that were read.
    pub fn row_bytes(&self) -> RowBytes {
        self.bytes.totals()
    }

    /// Number of rows that [`keep`](Self::keep) can keep in `bytes` bytes; 0 for integers.
    pub fn capacity(&self, bytes: u64) -> usize {
        if self.integers {
            return 0;
        }
        RowCache::capacity(bytes, self.rows.book.num_nodes(), self.width())
    }

    /// The nodes among `nodes` (global ids) to which the feature belongs.
    pub fn covered<'n>(&self, nodes: &'n [u64]) -> Cow<'n, [u64]> {
        self.rows.covered(nodes)
    }

    /// Reads the rows of `nodes` (global ids, ascending; nodes without the feature are skipped) and keeps them in
    /// memory, in place of the rows kept so far.
    ///
    /// # Errors
    /// As for [`read_f32`](Self::read_f32).
    pub fn keep(&self, nodes: &[u64]) -> Result<()> {
        self.forget();
        let nodes = &*self.covered(nodes);
        if nodes.is_empty() {
            return Ok(());
        }
        let mut rows = vec![0.0; nodes.len() * self.width()];
        self.read_from_files(nodes.iter().copied().zip(0..).collect(), &mut rows)?;
        let cache = RowCache::new(self.rows.book.num_nodes(), nodes, rows, self.width());
        *self.cache.write() = Some(Arc::new(cache));
        Ok(())
    }

    /// Drops all kept rows.
    pub fn forget(&self) {
        *self.cache.write() = None;
    }

    /// Reads the rows of nodes (global ids, in any order, repetitions allowed): `int64` for labels and arrays stored as
    /// integers, otherwise `float32`; `[nodes.len(), width]`, or `[nodes.len()]` for integers of width 1.
    ///
    /// # Errors
    /// As for [`read_f32`](Self::read_f32).
    pub fn read(&self, nodes: &[u64]) -> Result<Tensor> {
        let mut values = Tensor::from_elements(&self.layout(nodes.len()), |_| Ok(()))?;
        if self.integers {
            self.read_i64(nodes, &mut tensor::slice_mut(&mut values))?;
        } else {
            self.read_f32(nodes, &mut tensor::slice_mut(&mut values))?;
        }
        Ok(values)
    }

    /// Shape and element type of the result of [`read`](Self::read) for `nodes` nodes.
    pub(crate) fn layout(&self, nodes: usize) -> ArrayLayout {
        let (nodes, width) = (nodes as i64, self.rows.width as i64);
        match (self.integers, width) {
            (true, 1) => ArrayLayout::new(Dtype::I64, &[nodes]),
            (true, _) => ArrayLayout::new(Dtype::I64, &[nodes, width]),
            (false, _) => ArrayLayout::new(Dtype::F32, &[nodes, width]),
        }
    }

    /// Reads the rows of nodes (global ids, in any order, repetitions allowed) as float32 into `[nodes.len(), width]`.
    ///
    /// # Errors
    /// If a node does not exist or its type lacks the feature, a file cannot be read, or an input feature is not finite.
    pub fn read_f32(&self, nodes: &[u64], out: &mut [f32]) -> Result<()> {
        let width = self.width();
        self.check_size(nodes.len(), out.len())?;
        self.bytes.needed(nodes.len() as u64 * self.stored_row());
        let cache = self.cache.read().clone();
        let Some(cache) = cache else {
            return self.read_from_files(nodes.iter().copied().zip(0..).collect(), out);
        };
        let mut others = Vec::new();
        for (&node, i) in nodes.iter().zip(0..) {
            match cache.row(node) {
                Some(row) => out[i as usize * width..][..width].copy_from_slice(row),
                None => others.push((node, i)),
            }
        }
        self.read_from_files(others, out)
    }

    /// Reads the rows of nodes, each paired with its row in `out`.
    fn read_from_files(&self, nodes: Vec<(u64, u32)>, out: &mut [f32]) -> Result<()> {
        let bytes = self.rows.gather(nodes, out, None, |array, rows, out| {
            if !self.finite {
                return array.read_f32(rows, out);
            }
            array.read_finite_f32(rows.clone(), out)?;
            self.normalize(array, rows.start, out)
        })?;
        self.bytes.read(bytes);
        Ok(())
    }

    /// Normalises rows of an array, starting with row `first`.
    fn normalize(&self, array: &ArrayRef, first: u64, rows: &mut [f32]) -> Result<()> {
        if self.normalize == Normalize::None {
            return Ok(());
        }
        for (row, number) in rows.chunks_exact_mut(self.width().max(1)).zip(first..) {
            let sum: f32 = row.iter().sum();
            if sum != 0.0 {
                for value in row.iter_mut() {
                    *value /= sum;
                }
            }
            if first_not_finite(row).is_some() {
                return Err(not_normalisable(array, number, f64::from(sum)));
            }
        }
        Ok(())
    }

    /// Like [`read_f32`](Self::read_f32), for integers. Nodes of types without the feature, and NaN, give -1 (OGB marks
    /// papers without a class with NaN).
    ///
    /// # Errors
    /// As for [`read_f32`](Self::read_f32).
    pub fn read_i64(&self, nodes: &[u64], out: &mut [i64]) -> Result<()> {
        self.check_size(nodes.len(), out.len())?;
        self.bytes.needed(nodes.len() as u64 * self.stored_row());
        let numbered = nodes.iter().copied().zip(0..).collect();
        let bytes = self.rows.gather(numbered, out, Some(UNLABELLED), |array, rows, out| {
            if array.dtype().is_integer() {
                return array.read_i64(rows, out);
            }
            let mut floats = vec![0.0; out.len()];
            array.read_f64(rows, &mut floats)?;
            for (value, float) in out.iter_mut().zip(floats) {
                *value = if float.is_nan() { UNLABELLED } else { float as i64 };
            }
            Ok(())
        })?;
        self.bytes.read(bytes);
        if self.first_classes.iter().all(|first| *first == 0) {
            return Ok(());
        }
        for (node, label) in nodes.iter().zip(out).filter(|(_, label)| **label >= 0) {
            let ntype = self.rows.book.node_type(*node);
            let first = ntype.and_then(|ntype| self.first_classes.get(ntype));
            *label += first.unwrap_or(&0);
        }
        Ok(())
    }

    /// Size of a row in its file, in bytes.
    fn stored_row(&self) -> u64 {
        let array = self.rows.arrays.iter().flatten().flatten().next();
        array.map_or(0, |array| self.rows.width * array.dtype().size() as u64)
    }

    fn check_size(&self, nodes: usize, values: usize) -> Result<()> {
        if values == nodes * self.width() {
            return Ok(());
        }
        let problem = format!("{nodes} rows of {} do not fill {values}", self.width());
        Err(Error::internal(problem))
    }
}

//! Rows of a node feature of the whole graph, from the files of all partitions.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::RwLock;
use tch::Tensor;

use super::features::{FEATURES, Normalize, not_normalisable};
use super::labels::{LABELS, UNLABELLED};
use super::reachable::Reachable;
use super::row_bytes::{RowBytes, RowCounters};
use super::row_cache::RowCache;
use super::row_reads::read_rows;
use crate::engine::array::{ArrayLayout, Elements};
use crate::engine::tensor;
use crate::formats::dgl::{ArrayRef, Feature, FeatureSet, open_node_features};
use crate::graph::PartitionBook;
use crate::io::{Dtype, IoCounters};
use crate::kernels::first_not_finite;
use crate::load::keys::Role;
use crate::words::error::{Error, Result};

/// A feature of all nodes, read row by row from the partitions' own files. Requested rows are sorted, neighbouring ones
/// are read with one call, and no other rows are read. Rows may be [kept](Self::keep) in memory. It can be shared by
/// threads; clones share kept rows.
#[derive(Debug, Clone)]
pub struct NodeColumn {
    pub(super) book: Arc<PartitionBook>,
    /// Arrays by partition and node type; empty for partitions whose files are not reachable.
    pub(super) arrays: Vec<Vec<Option<ArrayRef>>>,
    pub(super) width: u64,
    pub(super) integers: bool,
    pub(super) normalize: Normalize,
    /// Whether values must be finite, as in features; labels may be NaN.
    pub(super) finite: bool,
    /// Numbers that are added to each node type's labels; empty for other features.
    pub(super) first_classes: Vec<i64>,
    /// The node type of the feature, if it belongs to one type only.
    pub(super) only: Option<usize>,
    pub(super) counters: IoCounters,
    pub(super) bytes: RowCounters,
    pub(super) cache: Arc<RwLock<Option<Arc<RowCache>>>>,
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
        column.check_types(partitions, key, 0..column.book.ntypes().len())?;
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
        let column = Self::open(partitions.clone(), counters, |set| {
            let mut found = FEATURES.require(set, key)?;
            let others = found.iter_mut().enumerate().filter(|(other, _)| *other != ntype);
            others.for_each(|(_, feature)| *feature = None);
            Ok(found)
        })?;
        column.check_types(partitions, key, ntype..ntype + 1)?;
        Ok(NodeColumn { normalize, finite: true, only: Some(ntype), ..column })
    }

    /// Checks that these node types have the features in every reachable partition with nodes of the type.
    fn check_types(
        &self,
        Reachable { config, parts }: Reachable<'_>,
        key: Option<&str>,
        mut ntypes: Range<usize>,
    ) -> Result<()> {
        let has = |part: usize, ntype: usize| {
            self.arrays[part][ntype].is_some() || self.book.node_type_range(part, ntype).is_empty()
        };
        let lacks = |ntype: usize| {
            let part = parts.clone().find(|part| !has(*part, ntype))?;
            Some((part, ntype))
        };
        let Some((part, ntype)) = ntypes.find_map(lacks) else { return Ok(()) };
        let name = &self.book.ntypes()[ntype];
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
        match column.width {
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
        self.first_classes.resize(self.book.ntypes().len(), 0);
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
        let mut arrays = column.arrays.iter().flatten().flatten();
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
        let normalize = Normalize::None;
        Ok(NodeColumn {
            book,
            arrays,
            width,
            integers: false,
            normalize,
            finite: false,
            first_classes: Vec::new(),
            only: None,
            counters,
            bytes: RowCounters::default(),
            cache: Arc::default(),
        })
    }

    /// Number of values per node.
    pub fn width(&self) -> usize {
        self.width as usize
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
        RowCache::capacity(bytes, self.book.num_nodes(), self.width())
    }

    /// The nodes among `nodes` (global ids) to which the feature belongs.
    pub fn covered<'n>(&self, nodes: &'n [u64]) -> Cow<'n, [u64]> {
        match self.only {
            None => Cow::Borrowed(nodes),
            only => {
                nodes.iter().copied().filter(|node| self.book.node_type(*node) == only).collect()
            }
        }
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
        let cache = RowCache::new(self.book.num_nodes(), nodes, rows, self.width());
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
        let (nodes, width) = (nodes as i64, self.width as i64);
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
        self.gather(nodes, out, None, |array, rows, out| {
            if !self.finite {
                return array.read_f32(rows, out);
            }
            array.read_finite_f32(rows.clone(), out)?;
            self.normalize(array, rows.start, out)
        })
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
        self.gather(numbered, out, Some(UNLABELLED), |array, rows, out| {
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
        if self.first_classes.iter().all(|first| *first == 0) {
            return Ok(());
        }
        for (node, label) in nodes.iter().zip(out).filter(|(_, label)| **label >= 0) {
            let first = self.book.node_type(*node).and_then(|ntype| self.first_classes.get(ntype));
            *label += first.unwrap_or(&0);
        }
        Ok(())
    }

    /// Size of a row in its file, in bytes.
    fn stored_row(&self) -> u64 {
        let array = self.arrays.iter().flatten().flatten().next();
        array.map_or(0, |array| self.width * array.dtype().size() as u64)
    }

    fn check_size(&self, nodes: usize, values: usize) -> Result<()> {
        if values == nodes * self.width() {
            return Ok(());
        }
        let problem = format!("{nodes} rows of {} do not fill {values}", self.width());
        Err(Error::internal(problem))
    }

    /// Reads the rows of nodes, each paired with its row in `out`.
    fn gather<T: Copy + Default>(
        &self,
        mut order: Vec<(u64, u32)>,
        out: &mut [T],
        missing: Option<T>,
        read: impl Fn(&ArrayRef, Range<u64>, &mut [T]) -> Result<()>,
    ) -> Result<()> {
        let width = self.width();
        order.sort_unstable();
        let mut rest = &order[..];
        while let Some((first, _)) = rest.first() {
            let (ids, array) = self.table(*first, missing.is_some())?;
            let here = rest.partition_point(|(node, _)| *node < ids.end);
            let (wanted, others) = rest.split_at(here);
            rest = others;
            let Some(array) = array else {
                for (_, i) in wanted {
                    out[*i as usize * width..][..width].fill(missing.unwrap_or_default());
                }
                continue;
            };
            let rows = |rows, out: &mut [T]| read(array, rows, out);
            let bytes = read_rows(array, ids.start, wanted, out, rows)?;
            self.counters.read(bytes);
            self.bytes.read(bytes);
        }
        Ok(())
    }

    /// Ids of the node's partition and type, and the array with their rows.
    fn table(&self, node: u64, may_lack: bool) -> Result<(Range<u64>, Option<&ArrayRef>)> {
        let place = self.book.part_of_node(node).zip(self.book.node_type(node));
        let (part, ntype) = place.ok_or_else(|| {
            let problem =
                format!("there is no node {node}; ids are below {}", self.book.num_nodes());
            Error::config("ids", problem)
        })?;
        let of_types = &self.arrays[part];
        if of_types.is_empty() {
            let problem = format!("the files of partition {part} are not reachable");
            return Err(Error::config("node features", problem)
                .with_hint("ask the rank that owns it, with CollectiveGraph"));
        }
        let array = of_types[ntype].as_ref();
        if array.is_none() && !may_lack {
            let name = &self.book.ntypes()[ntype];
            let problem = format!("nodes of type {name} have no such feature");
            return Err(Error::config("node features", problem));
        }
        Ok((self.book.node_type_range(part, ntype), array))
    }
}

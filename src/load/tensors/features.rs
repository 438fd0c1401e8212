//! Node features, read from the partition's own files whenever they are used.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use tch::{Device, Kind, Tensor};

use super::row_reads::{Together, read_rows};
use crate::engine::tensor;
use crate::formats::dgl::{ArrayRef, Feature, Partition};
use crate::graph::{GraphShard, ShardBuilder};
use crate::io::{Dtype, IoCounters};
use crate::load::keys::FEATURES;
use crate::words::choice::choices;
use crate::words::error::{Error, Result};

const ONE_WIDTH: &str = "a homogeneous model needs features of one width on every node type";

/// Number of elements converted at a time.
const CHUNK: u64 = 1 << 20;

/// Limits for rows that are read in the order of the file.
const IN_ORDER: Together = Together { gap: 16 << 10, most: 4 << 20 };

/// Minimum size in bytes of arrays that are dropped from the page cache.
const LARGE: u64 = 16 << 20;

/// Features are held as entries if at most one value in this number is not zero. An entry takes 16 bytes in the two orders
/// in which it is held, a value of a matrix 4; and products of matrices take less time per value.
const FEW: f64 = 16.0;

/// Largest expected number of entries of a rank, which numbers them in 32 bits.
const MOST: f64 = (1_u64 << 31) as f64;

/// Number of rows of an array in which zeros are counted.
const COUNTED: u64 = 1024;

choices! {
    /// How features are normalised when they are read.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Normalize {
        /// Not at all
        @default None = "none",
        /// Each row is divided by its sum (rows that sum to 0 stay), as is usual for bags of words
        Row = "row",
    }
}

/// Features of a partition's inner nodes. They are never spilled: rows that leave memory are read again from the
/// partition's files.
#[derive(Debug, Clone)]
pub struct NodeFeatures {
    /// For each node type with features, its range among the inner nodes, and its array.
    tables: Vec<(Range<u64>, Feature)>,
    rows: u64,
    width: u64,
    normalize: Normalize,
    /// Whether large arrays are dropped from the page cache after they have been read.
    leave_cache: bool,
    /// Type in which rows are sent to other ranks, if it is narrower than single precision.
    sent_as: Option<Dtype>,
}

impl NodeFeatures {
    /// Finds the features that `key` selects. The types of a heterogeneous graph are in sequence, as in
    /// `dgl.to_homogeneous`.
    ///
    /// # Errors
    /// If none or several match, or types lack them or differ in width.
    pub fn find(partition: &Partition, key: Option<&str>, normalize: Normalize) -> Result<Self> {
        Self::of_all_types(partition, key, normalize, |problem| {
            let set = partition.node_features();
            let error = Error::input(set.path(), key.unwrap_or("feat"), problem);
            Err(error.with_hint(ONE_WIDTH))
        })
    }

    /// Like [`find`](Self::find), with rows of zeros for nodes of types without the feature: `expand_to_all` of SAR's
    /// `suffix_key_lookup`.
    ///
    /// # Errors
    /// If none match, or types differ in width.
    pub fn expand_to_all(
        partition: &Partition,
        key: Option<&str>,
        normalize: Normalize,
    ) -> Result<Self> {
        Self::of_all_types(partition, key, normalize, |_| Ok(()))
    }

    fn of_all_types(
        partition: &Partition,
        key: Option<&str>,
        normalize: Normalize,
        lacking: impl Fn(String) -> Result<()>,
    ) -> Result<Self> {
        let set = partition.node_features();
        let found = FEATURES.require(set, key)?;
        let book = partition.book();
        let first = book.node_range(partition.part()).start;
        let mut tables = Vec::new();
        let mut width = None;
        for (ntype, feature) in found.into_iter().enumerate() {
            let ids = book.node_type_range(partition.part(), ntype);
            let name = &book.ntypes()[ntype];
            let Some(feature) = feature else {
                lacking(format!("node type {name} has no such feature"))?;
                continue;
            };
            let this = feature.array().row_len();
            if *width.get_or_insert(this) != this {
                let problem =
                    format!("has {this} columns, other node types have {}", width.unwrap_or(0));
                return Err(Error::input(set.path(), feature.key(), problem).with_hint(ONE_WIDTH));
            }
            tables.push((ids.start - first..ids.end - first, feature.clone()));
        }
        let rows = partition.num_inner_nodes();
        let (width, leave_cache) = (width.unwrap_or(0), false);
        Ok(NodeFeatures { tables, rows, width, normalize, leave_cache, sent_as: None })
    }

    /// The features of each node type separately, as `key` selects them; `None` for types without features.
    ///
    /// # Errors
    /// If a given key matches no feature, or several of one type; or if several usual names exist.
    pub fn by_type(
        partition: &Partition,
        key: Option<&str>,
        normalize: Normalize,
    ) -> Result<Vec<Option<Self>>> {
        let found = FEATURES.find(partition.node_features(), key)?;
        let found = found.unwrap_or_else(|| vec![None; partition.book().ntypes().len()]);
        let of_type = |(ntype, feature): (usize, Option<&Feature>)| {
            let feature = feature?;
            let ids = partition.book().node_type_range(partition.part(), ntype);
            let (rows, width) = (ids.end - ids.start, feature.array().row_len());
            let (tables, leave_cache) = (vec![(0..rows, feature.clone())], false);
            Some(NodeFeatures { tables, rows, width, normalize, leave_cache, sent_as: None })
        };
        Ok(found.into_iter().enumerate().map(of_type).collect())
    }

    /// Sets whether large arrays leave the page cache after they have been read, because they are not read again soon.
    #[must_use]
    pub fn leaving_cache(self, leave_cache: bool) -> Self {
        NodeFeatures { leave_cache, ..self }
    }

    /// Sets the type in which rows are sent to other ranks. All ranks must agree on it. The values are exact if it
    /// equals [`exact_dtype`](Self::exact_dtype).
    #[must_use]
    pub fn sent_as(self, sent_as: Option<Dtype>) -> Self {
        NodeFeatures { sent_as, ..self }
    }

    /// Type in which rows are sent to other ranks, if it is narrower than single precision.
    pub fn message_dtype(&self) -> Option<Dtype> {
        self.sent_as
    }

    /// A type narrower than single precision that represents all values exactly: the type in the files, unless reading
    /// changes the values.
    pub fn exact_dtype(&self) -> Option<Dtype> {
        let dtype = self.dtype();
        let same = self.tables.iter().all(|(_, feature)| feature.array().dtype() == dtype);
        (same && dtype.size() < Dtype::F32.size() && self.normalize == Normalize::None)
            .then_some(dtype)
    }

    /// Number of columns.
    pub fn width(&self) -> i64 {
        self.width as i64
    }

    /// Element type in the file.
    pub fn dtype(&self) -> Dtype {
        self.tables.first().map_or(Dtype::F32, |(_, feature)| feature.array().dtype())
    }

    /// Numbers of rows and columns.
    pub fn size(&self) -> [i64; 2] {
        [self.rows as i64, self.width as i64]
    }

    /// Reads all rows as `kind` (float or double).
    ///
    /// # Errors
    /// If the file cannot be read, or a value is not finite, before or after normalisation.
    pub fn read(&self, kind: Kind, counters: &IoCounters) -> Result<Tensor> {
        let mut values = self.rows_to_fill(self.size(), kind)?;
        let chunk = (CHUNK / self.width.max(1)).max(1);
        for (rows, feature) in &self.tables {
            let array = feature.array();
            for start in (0..rows.end - rows.start).step_by(chunk as usize) {
                let part = start..(start + chunk).min(rows.end - rows.start);
                let place = ((rows.start + part.start) * self.width) as usize;
                let len = ((part.end - part.start) * self.width) as usize;
                if kind == Kind::Double {
                    let values = &mut tensor::slice_mut::<f64>(&mut values);
                    array.read_finite_f64(part.clone(), &mut values[place..][..len])?;
                } else {
                    let values = &mut tensor::slice_mut::<f32>(&mut values);
                    array.read_finite_f32(part.clone(), &mut values[place..][..len])?;
                }
                if self.leave_cache && array.byte_len() >= LARGE {
                    array.drop_cached(part)?;
                }
            }
            counters.read(array.byte_len());
        }
        self.normalized(values)
    }

    /// Reads selected rows, ascending, as `float32`. Rows that are close to each other are read together, with the rows
    /// between them.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn read_rows(&self, rows: &[u32], counters: &IoCounters) -> Result<Tensor> {
        let mut values = self.rows_to_fill([rows.len() as i64, self.width()], Kind::Float)?;
        let mut out = tensor::slice_mut::<f32>(&mut values);
        for (range, feature) in &self.tables {
            let array = feature.array();
            let below = |end: u64| rows.partition_point(|row| u64::from(*row) < end);
            let (begin, end) = (below(range.start), below(range.end));
            let row = |i: usize| u64::from(rows[begin + i]) - range.start;
            let read = |rows, out: &mut [f32]| array.read_finite_f32(rows, out);
            let place = |i: usize| begin + i;
            counters.read(read_rows(array, IN_ORDER, end - begin, row, place, &mut out, read)?);
        }
        drop(out);
        self.normalized(values)
    }

    /// The fraction of values that are not zero, in rows spread evenly over the tables.
    ///
    /// # Errors
    /// If the files cannot be read.
    pub fn filled(&self) -> Result<f64> {
        filled(self.tables.iter().map(|(_, feature)| feature.array()))
    }

    /// Whether so few values are not zero that entries take less memory and time than a matrix.
    ///
    /// # Errors
    /// If the files cannot be read.
    pub fn has_few_entries(&self) -> Result<bool> {
        let filled = self.filled()?;
        Ok(is_little(filled) && filled * (self.rows * self.width) as f64 <= MOST)
    }

    /// Reads the values of selected rows, ascending, that are not zero: rows are destinations, columns are sources, and
    /// weights are values.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn read_entries(&self, rows: &[u32], counters: &IoCounters) -> Result<GraphShard> {
        let width = self.width.max(1) as usize;
        let mut entries = ShardBuilder::default();
        let mut first = 0;
        for block in rows.chunks((CHUNK as usize / width).max(1)) {
            let values = self.read_rows(block, counters)?;
            entries.push_matrix(first, width, &tensor::slice::<f32>(&values));
            first += block.len() as u32;
            self.drop_cached(u64::from(block[0])..u64::from(block[block.len() - 1]) + 1)?;
        }
        Ok(entries.build(rows.len(), self.width as usize, true)?.0)
    }

    /// Drops rows of large arrays from the page cache, if they are not read again soon.
    fn drop_cached(&self, rows: Range<u64>) -> Result<()> {
        for (range, feature) in self.tables.iter().filter(|_| self.leave_cache) {
            let [start, end] = [rows.start, rows.end].map(|row| row.clamp(range.start, range.end));
            if feature.array().byte_len() >= LARGE {
                feature.array().drop_cached(start - range.start..end - range.start)?;
            }
        }
        Ok(())
    }

    /// Memory for rows; zeros if some rows belong to no array.
    fn rows_to_fill(&self, size: [i64; 2], kind: Kind) -> Result<Tensor> {
        let stored: u64 = self.tables.iter().map(|(rows, _)| rows.end - rows.start).sum();
        if stored == self.rows {
            return tensor::empty(&size, kind);
        }
        Ok(Tensor::f_zeros(size.as_slice(), (kind, Device::Cpu))?)
    }

    fn normalized(&self, mut values: Tensor) -> Result<Tensor> {
        if self.normalize == Normalize::None {
            return Ok(values);
        }
        let sums = values.f_sum_dim_intlist([1_i64].as_slice(), true, values.kind())?;
        let factors = sums.f_reciprocal()?.f_masked_fill(&sums.f_eq(0)?, 1)?;
        let values = values.f_mul_(&factors)?;
        let Some((row, sum)) = first_overflow(&values, &sums)? else { return Ok(values) };
        let table = self.tables.iter().find(|(rows, _)| rows.contains(&row));
        match table {
            Some((rows, feature)) => Err(not_normalisable(feature.array(), row - rows.start, sum)),
            None => {
                Err(Error::internal(format!("row {row} does not belong to any array of features")))
            }
        }
    }
}

/// The fraction of values of arrays that are not zero, in rows spread evenly.
pub(crate) fn filled<'a>(arrays: impl Iterator<Item = &'a ArrayRef>) -> Result<f64> {
    let (mut filled, mut counted) = (0, 0);
    for array in arrays {
        let (rows, mut row) = (array.num_rows(), vec![0.0; array.row_len() as usize]);
        for at in (0..rows).step_by(rows.div_ceil(COUNTED).max(1) as usize) {
            array.read_f32(at..at + 1, &mut row)?;
            filled += row.iter().filter(|value| **value != 0.0).count();
            counted += row.len();
        }
    }
    Ok(filled as f64 / counted.max(1) as f64)
}

/// Whether features with this fraction of values that are not zero are held as entries.
pub(crate) fn is_little(filled: f64) -> bool {
    filled * FEW <= 1.0
}

/// The error for a row that overflows when divided by its sum.
pub(super) fn not_normalisable(array: &ArrayRef, row: u64, sum: f64) -> Error {
    let problem = format!("row {row} sums to {sum:e}; divided by that, it is not finite");
    array.fail(problem).with_hint("leave out ‹normalize_features›, or scale the features")
}

/// The first row in which a division by the row's sum has overflowed.
fn first_overflow(values: &Tensor, sums: &Tensor) -> Result<Option<(u64, f64)>> {
    let width = values.size()[1] as usize;
    let Some(at) = tensor::first_not_finite(values) else { return Ok(None) };
    let row = at / width;
    Ok(Some((row as u64, sums.f_double_value(&[row as i64, 0])?)))
}

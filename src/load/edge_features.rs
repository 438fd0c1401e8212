//! Edge features, read from the partition's own files.

use std::ops::Range;

use tch::{Kind, Tensor};

use super::keys::Role;
use super::shards::first_rows;
use crate::engine::tensor;
use crate::error::{Error, Result};
use crate::formats::dgl::{Feature, Partition};
use crate::io::IoCounters;

/// Number of elements read at a time.
const CHUNK: u64 = 1 << 20;

const FEATURES: Role<'_> = Role { what: "edge features", field: "", usual: &[] };

/// The features of a partition's inner edges: one table per edge type, all with the same width.
#[derive(Debug, Clone)]
pub struct EdgeFeatures {
    /// First row of each edge type if the types follow one another, and its table.
    tables: Vec<(u64, Feature)>,
    width: u64,
}

impl EdgeFeatures {
    /// Finds the features that `key` selects; keys are matched as for node features.
    ///
    /// # Errors
    /// If none or several match, or edge types lack them or differ in width.
    pub fn find(partition: &Partition, key: &str) -> Result<Self> {
        let set = partition.edge_features();
        let found = FEATURES.require(set, Some(key))?;
        let etypes = partition.book().etypes();
        let mut tables = Vec::new();
        for ((first, feature), etype) in first_rows(partition).into_iter().zip(found).zip(etypes) {
            let Some(feature) = feature else {
                let problem = format!("edge type {etype} has no such feature");
                return Err(Error::input(set.path(), key, problem));
            };
            tables.push((first, feature.clone()));
        }
        let width = tables.first().map_or(0, |(_, feature)| feature.array().row_len());
        for (_, feature) in &tables {
            let this = feature.array().row_len();
            if this != width {
                let problem = format!("has {this} columns, the first edge type has {width}");
                return Err(Error::input(set.path(), feature.key(), problem));
            }
        }
        Ok(EdgeFeatures { tables, width })
    }

    /// Number of columns.
    pub fn width(&self) -> i64 {
        self.width as i64
    }

    /// Reads rows as `kind` (float or double), `[rows.len(), width]`. The rows of edge types follow one another: for the edges
    /// of a graph whose shards were loaded with [`EdgeData::feature_rows`](super::EdgeData::feature_rows),
    /// [`Graph::feature_rows`](crate::engine::tape::Graph::feature_rows) returns the row of each edge. Each table is read once,
    /// front to back.
    ///
    /// # Errors
    /// If a row does not exist, the file cannot be read, or a value is not finite.
    pub fn read(&self, rows: &[u64], kind: Kind, counters: &IoCounters) -> Result<Tensor> {
        let mut values = tensor::empty(&[rows.len() as i64, self.width()], kind)?;
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_unstable_by_key(|i| rows[*i]);
        let at_once = (CHUNK / self.width.max(1)).max(1);
        let mut order = &order[..];
        for (first, feature) in &self.tables {
            let (array, mut start) = (feature.array(), 0);
            while start < array.num_rows() {
                let end = (start + at_once).min(array.num_rows());
                let asked = order.partition_point(|i| rows[*i] < first + end);
                let (here, rest) = order.split_at(asked);
                order = rest;
                if !here.is_empty() {
                    let place = |i: &usize| (*i, rows[*i] - first - start);
                    self.copy(array, start..end, here.iter().map(place), &mut values)?;
                    counters.read((end - start) * self.width * array.dtype().size() as u64);
                }
                start = end;
            }
        }
        match order.first() {
            None => Ok(values),
            Some(i) => {
                Err(Error::internal(format!("edge feature row {} does not exist", rows[*i])))
            }
        }
    }

    /// Reads a range of a table's rows and copies the rows that are asked for, as (row of the result, row of the range).
    fn copy(
        &self,
        array: &crate::formats::dgl::ArrayRef,
        rows: Range<u64>,
        places: impl Iterator<Item = (usize, u64)>,
        values: &mut Tensor,
    ) -> Result<()> {
        let width = self.width as usize;
        let len = (rows.end - rows.start) as usize * width;
        if values.kind() == Kind::Double {
            let mut read = vec![0.0; len];
            array.read_finite_f64(rows, &mut read)?;
            scatter(&read, width, places, &mut tensor::slice_mut::<f64>(values));
        } else {
            let mut read = vec![0.0; len];
            array.read_finite_f32(rows, &mut read)?;
            scatter(&read, width, places, &mut tensor::slice_mut::<f32>(values));
        }
        Ok(())
    }
}

fn scatter<T: Copy>(
    from: &[T],
    width: usize,
    places: impl Iterator<Item = (usize, u64)>,
    to: &mut [T],
) {
    for (row, place) in places {
        to[row * width..][..width].copy_from_slice(&from[place as usize * width..][..width]);
    }
}

//! Labels, masks and values of node and edge data.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::formats::dgl::blocks::wide_ranges;
use crate::formats::dgl::{ArrayRef, Feature};
use crate::platform::signals;
use crate::words::error::Result;

/// Largest number of classes that are counted separately.
const MOST_CLASSES: usize = 10_000;

/// Number of nodes of each class.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ClassCounts {
    /// Number of nodes by class number; with several classes per node, of nodes that have the class.
    pub nodes: BTreeMap<i64, u64>,
    /// Number of nodes without a class.
    pub unlabelled: u64,
    /// Number of nodes of further classes, which are too many to count separately.
    pub further: u64,
}

/// Size of a mask.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct MaskSize {
    /// Number of nonzero rows.
    pub members: u64,
    /// Number of rows.
    pub rows: u64,
}

/// Values of a floating-point array.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ValueCounts {
    /// Number of values.
    pub values: u64,
    /// Number of NaNs.
    pub nan: u64,
    /// Number of infinite values.
    pub infinite: u64,
}

/// Purpose of an array, judging by its name and type, which decides how it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnPurpose {
    Labels,
    Mask,
    Values,
    /// Whole numbers that are neither.
    Nothing,
}

impl ColumnPurpose {
    pub(super) fn of(feature: &Feature) -> Self {
        let (name, array) = (feature.name(), feature.array());
        match name {
            "label" | "labels" => ColumnPurpose::Labels,
            _ if name.ends_with("mask") && array.row_len() == 1 => ColumnPurpose::Mask,
            _ if !array.dtype().is_integer() => ColumnPurpose::Values,
            _ => ColumnPurpose::Nothing,
        }
    }
}

/// Calls `each` with blocks of whole rows.
fn blocks(array: &ArrayRef, mut each: impl FnMut(&[f64])) -> Result<()> {
    let mut values = Vec::new();
    for rows in wide_ranges(array.num_rows(), array.row_len()) {
        signals::check()?;
        values.resize(((rows.end - rows.start) * array.row_len()) as usize, 0.0);
        array.read_f64(rows, &mut values)?;
        each(&values);
    }
    Ok(())
}

impl ClassCounts {
    /// Counts the rows of an array of labels.
    pub(super) fn add(&mut self, array: &ArrayRef) -> Result<()> {
        let width = array.row_len() as usize;
        blocks(array, |values| {
            for row in values.chunks(width.max(1)) {
                match row {
                    [class] if class.is_nan() || *class < 0.0 => self.unlabelled += 1,
                    [class] => self.count(*class as i64),
                    row if row.iter().any(|value| value.is_nan()) => self.unlabelled += 1,
                    row => {
                        let has = row.iter().zip(0..).filter(|(value, _)| **value != 0.0);
                        has.for_each(|(_, class)| self.count(class));
                    }
                }
            }
        })
    }

    fn count(&mut self, class: i64) {
        let full = self.nodes.len() >= MOST_CLASSES;
        match self.nodes.get_mut(&class) {
            Some(nodes) => *nodes += 1,
            None if full => self.further += 1,
            None => drop(self.nodes.insert(class, 1)),
        }
    }
}

impl MaskSize {
    /// Counts the rows of a mask.
    pub(super) fn add(&mut self, array: &ArrayRef) -> Result<()> {
        self.rows += array.num_rows();
        blocks(array, |values| {
            self.members += values.iter().filter(|value| **value != 0.0).count() as u64;
        })
    }
}

impl ValueCounts {
    /// Counts the values of an array.
    pub(super) fn add(&mut self, array: &ArrayRef) -> Result<()> {
        blocks(array, |values| {
            self.values += values.len() as u64;
            self.nan += values.iter().filter(|value| value.is_nan()).count() as u64;
            self.infinite += values.iter().filter(|value| value.is_infinite()).count() as u64;
        })
    }
}

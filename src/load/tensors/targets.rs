//! Labels that are rows of numbers: multiple labels per node, or values to predict.

use tch::{Kind, Tensor};

use super::labels::fill_types;
use crate::engine::tensor;
use crate::formats::dgl::{ArrayRef, Partition};
use crate::load::keys::LABELS;
use crate::words::error::{Error, Result};

/// Values that rows of labels may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Targets {
    /// 1 or 0: whether the node belongs to the column's class.
    Classes,
    /// Any finite number.
    Numbers,
}

impl Targets {
    /// Whether a label may have this value; NaN means no label.
    fn allows(self, value: f32) -> bool {
        match self {
            Targets::Classes => value.is_nan() || [0.0, 1.0].contains(&value),
            Targets::Numbers => !value.is_infinite(),
        }
    }
}

/// Loads the labels of each inner node, `float32 [num_inner_nodes, columns]` (one column for labels of shape `[n]`), from any
/// numeric type; NaN in all columns for a node without labels.
///
/// # Errors
/// If no array or several hold labels, types differ in width, or a value is not one that `targets` allows.
pub fn load_targets(partition: &Partition, key: Option<&str>, targets: Targets) -> Result<Tensor> {
    let set = partition.node_features();
    let found = LABELS.require(set, key)?;
    // Without rows, an array says nothing of the width.
    let arrays = || found.iter().flatten().map(|feature| feature.array());
    let widths: Vec<u64> = arrays().filter(|a| a.num_rows() > 0).map(ArrayRef::row_len).collect();
    let width = widths.first().copied().or_else(|| arrays().next().map(|a| a.row_len().max(1)));
    let width = width.unwrap_or(0);
    if width == 0 || widths.iter().any(|w| *w != width) {
        let problem = format!("has {widths:?} columns on its node types; one number is needed");
        return Err(Error::input(set.path(), key.unwrap_or("label"), problem));
    }
    let shape = [partition.num_inner_nodes() as i64, width as i64];
    let mut labels = tensor::empty(&shape, Kind::Float)?.f_fill(f64::from(f32::NAN))?;
    let values = &mut tensor::slice_mut::<f32>(&mut labels);
    fill_types(partition, found, values, width as usize, |feature, values| {
        let array = feature.array();
        array.read_f32(0..array.num_rows(), values)?;
        let wrong = values.iter().position(|value| !targets.allows(*value));
        let Some(at) = wrong else { return Ok(()) };
        let place = array.place((at / width as usize) as u64, (at % width as usize) as u64);
        let value = values[at];
        let (problem, hint) = match targets {
            Targets::Classes => (
                format!("{place} holds {value}; labels of several classes per node must be 0 or 1"),
                "for class numbers pass ‹task=classification›, to predict numbers \
                 ‹task=regression›",
            ),
            Targets::Numbers => (
                format!("{place} holds {value}, but numbers to be predicted must be finite"),
                "mark nodes without a label with NaN",
            ),
        };
        Err(Error::input(set.path(), feature.key(), problem).with_hint(hint))
    })?;
    Ok(labels)
}

//! Labels and masks of a partition's inner nodes.

use tch::Tensor;

use crate::formats::dgl::{Feature, Partition};
use crate::io::Dtype;
use crate::load::keys::{LABELS, MASKS, find_mask};
use crate::words::error::{Error, Result};

/// Label of a node that has none.
pub(super) const UNLABELLED: i64 = -1;

/// Loads the class of each inner node, `int64 [num_inner_nodes]`; negative for nodes without a class. Labels are one
/// per node, of any integer type, or floating point with NaN for "none" (as OGB stores papers100M).
///
/// # Errors
/// If no array or several hold labels, or they are not one class per node.
pub fn load_labels(partition: &Partition, key: Option<&str>) -> Result<Tensor> {
    let set = partition.node_features();
    let mut labels = vec![UNLABELLED; partition.num_inner_nodes() as usize];
    fill_types(partition, LABELS.require(set, key)?, &mut labels, 1, |feature, values| {
        let array = feature.array();
        if array.row_len() != 1 {
            let problem = format!("has shape {:?}; one class per node is needed", array.shape());
            let hint = "for rows of 0 and 1 pass ‹task=multilabel›, for rows of numbers \
                        ‹task=regression›";
            return Err(Error::input(set.path(), feature.key(), problem).with_hint(hint));
        }
        if matches!(array.dtype(), Dtype::F16 | Dtype::BF16 | Dtype::F32 | Dtype::F64) {
            let mut floats = vec![0.0; values.len()];
            array.read_f64(0..values.len() as u64, &mut floats)?;
            for ((value, float), row) in values.iter_mut().zip(floats).zip(0..) {
                if !float.is_nan() && float.fract() != 0.0 {
                    let problem = format!("row {row} holds {float}, which is not a class number");
                    return Err(Error::input(set.path(), feature.key(), problem)
                        .with_hint("to predict numbers, pass ‹task=regression›"));
                }
                *value = if float.is_nan() { UNLABELLED } else { float as i64 };
            }
            return Ok(());
        }
        array.read_i64(0..values.len() as u64, values)
    })?;
    Ok(Tensor::f_from_slice(&labels)?)
}

/// The number of columns of the labels; only headers are read.
///
/// # Errors
/// If no array or several hold labels.
pub fn label_columns(partition: &Partition, key: Option<&str>) -> Result<u64> {
    let found = LABELS.require(partition.node_features(), key)?;
    Ok(found.iter().flatten().map(|feature| feature.array().row_len().max(1)).max().unwrap_or(0))
}

/// Like [`load_mask`], as a `Vec`.
///
/// # Errors
/// As for [`load_mask`].
pub fn read_mask(
    partition: &Partition,
    key: Option<&str>,
    name: &str,
) -> Result<Option<Vec<bool>>> {
    let set = partition.node_features();
    let Some(found) = find_mask(set, key, name)? else { return Ok(None) };
    let mut mask = vec![false; partition.num_inner_nodes() as usize];
    fill_types(partition, found, &mut mask, 1, |feature, mask| {
        let array = feature.array();
        if array.row_len() != 1 {
            let problem = format!("has shape {:?}; one value per node is needed", array.shape());
            return Err(Error::input(set.path(), feature.key(), problem));
        }
        let mut values = vec![0.0; mask.len()];
        array.read_finite_f32(0..mask.len() as u64, &mut values)?;
        mask.iter_mut().zip(values).for_each(|(m, v)| *m = v != 0.0);
        Ok(())
    })?;
    Ok(Some(mask))
}

/// Whether labels exist: an array with the given key, or with a usual name.
pub fn has_labels(partition: &Partition, key: Option<&str>) -> bool {
    let features = partition.node_features().features();
    match key {
        Some(key) => partition.node_features().lookup(key).is_ok(),
        None => features.iter().any(|feature| LABELS.usual.contains(&feature.name())),
    }
}

/// Loads a mask of the inner nodes, `bool [num_inner_nodes]`; nonzero values are true. Without `key`, the usual key
/// `name` is tried. For types without the mask it is false. `None` if no key is given and the usual mask does not
/// exist.
///
/// # Errors
/// If `key` matches no or several arrays, or the mask is not one value per node.
pub fn load_mask(partition: &Partition, key: Option<&str>, name: &str) -> Result<Option<Tensor>> {
    let mask = read_mask(partition, key, name)?;
    mask.map(|mask| Ok(Tensor::f_from_slice(&mask)?)).transpose()
}

/// Node types with labels; if several types have labels and some of these have training nodes, only the latter.
///
/// # Errors
/// If a key matches several arrays of one type.
pub fn labelled_types(
    partition: &Partition,
    label: Option<&str>,
    train_mask: Option<&str>,
) -> Result<Vec<usize>> {
    if !has_labels(partition, label) {
        return Ok(Vec::new());
    }
    let set = partition.node_features();
    let labels = LABELS.require(set, label)?;
    let masks = find_mask(set, train_mask, MASKS[0])?.unwrap_or_default();
    let types = 0..partition.book().ntypes().len();
    let labelled: Vec<usize> = types.filter(|ty| labels[*ty].is_some()).collect();
    let is_trained = |ty: &usize| masks.get(*ty).is_some_and(Option::is_some);
    let trained: Vec<usize> = labelled.iter().copied().filter(is_trained).collect();
    Ok(if labelled.len() > 1 && !trained.is_empty() { trained } else { labelled })
}

/// The node type that a model predicts: the type with labels; if several have labels, the one with training nodes.
///
/// # Errors
/// If no type has labels, or several have them.
pub fn labelled_type(
    partition: &Partition,
    label: Option<&str>,
    train_mask: Option<&str>,
) -> Result<usize> {
    let (set, ntypes) = (partition.node_features(), partition.book().ntypes());
    let labels = LABELS.require(set, label)?;
    if let [ty] = labelled_types(partition, label, train_mask)?[..] {
        return Ok(ty);
    }
    let labelled = ntypes.iter().zip(&labels).filter(|(_, labels)| labels.is_some());
    let labelled: Vec<&str> = labelled.map(|(name, _)| name.as_str()).collect();
    let problem = format!(
        "several node types have labels ({}), so name the ones to predict",
        labelled.join(", ")
    );
    let key = label.unwrap_or("label");
    Err(Error::input(set.path(), key, problem).with_hint(format!(
        "choose one with ‹keys.labels={}/{key}›, or predict them all with ‹relations.target={}›",
        labelled[0],
        labelled.join(",")
    )))
}

/// Calls `read` to fill in each type's part of `all`, which has `width` values per node.
pub(super) fn fill_types<T>(
    partition: &Partition,
    found: Vec<Option<&Feature>>,
    all: &mut [T],
    width: usize,
    mut read: impl FnMut(&Feature, &mut [T]) -> Result<()>,
) -> Result<()> {
    let book = partition.book();
    let first = book.node_range(partition.part()).start;
    for (ntype, feature) in found.into_iter().enumerate() {
        let ids = book.node_type_range(partition.part(), ntype);
        let rows = (ids.start - first) as usize..(ids.end - first) as usize;
        if let Some(feature) = feature.filter(|_| !rows.is_empty()) {
            read(feature, &mut all[rows.start * width..rows.end * width])?;
        }
    }
    Ok(())
}

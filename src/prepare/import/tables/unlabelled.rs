//! Labels that stand for none.

use super::table::Table;
use crate::words::error::Result;

/// Problem and remedy of labels that are all -1 or 1.
pub(super) const SIGNS: [&str; 2] = [
    "holds the labels -1 and 1, but -1 stands for no label",
    "number classes from 0: write 0 for -1, in Python: (labels + 1) // 2; to predict the numbers, pass them as an array of float32: \
     ‹node_data=label=FILE.npy›",
];

/// A note on nodes without a label, if there are any: NaN, or negative class numbers. Among fractions, negative numbers are
/// labels.
pub(crate) fn unlabelled(table: &Table) -> Result<Option<String>> {
    if !table.row_shape().is_empty() {
        return Ok(None);
    }
    let (mut missing, mut negative, mut are_whole) = (0, 0, true);
    table.each_f64(|label| {
        missing += u64::from(label.is_nan());
        negative += u64::from(label < 0.0);
        are_whole &= label.is_nan() || label.fract() == 0.0;
    })?;
    let (count, kind) = if are_whole && negative > 0 {
        (
            missing + negative,
            "no label or a negative one, which means none unless ‹task=regression›",
        )
    } else {
        (missing, "no label")
    };
    let note = || format!("{count} of {} nodes have {kind}", table.num_rows());
    Ok((count > 0).then(note))
}

/// Refuses whole numbers that are all -1 or 1, most likely two classes.
pub(crate) fn refuse_signs(table: &Table) -> Result<()> {
    if !table.dtype().is_integer() || !table.row_shape().is_empty() {
        return Ok(());
    }
    let (mut signs, mut others) = ([false; 2], false);
    table.each_i64(|_, label| {
        signs = [signs[0] || label == -1, signs[1] || label == 1];
        others |= label.unsigned_abs() != 1;
        Ok(())
    })?;
    if signs != [true; 2] || others {
        return Ok(());
    }
    let [problem, hint] = SIGNS;
    Err(table.fail(problem).with_hint(hint))
}

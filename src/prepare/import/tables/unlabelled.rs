//! Labels that stand for none.

use super::table::Table;
use crate::error::Result;

/// Problem and remedy of labels that are all -1 or 1.
pub(super) const SIGNS: [&str; 2] = [
    "holds the labels -1 and 1, but -1 stands for no label",
    "number classes from 0: write 0 for -1, in Python: (labels + 1) // 2",
];

/// Number of nodes without a label, if there are any: negative class numbers, or NaN.
pub(crate) fn unlabelled(table: &Table) -> Result<Option<u64>> {
    let mut count = 0;
    if !table.row_shape().is_empty() {
        return Ok(None);
    }
    if table.dtype().is_integer() {
        table.each_i64(|_, label| {
            count += u64::from(label < 0);
            Ok(())
        })?;
    } else {
        table.each_f64(|label| count += u64::from(label.is_nan()))?;
    }
    Ok((count > 0).then_some(count))
}

/// Refuses whole numbers that are all -1 or 1, most likely two classes.
pub(crate) fn refuse_signs(table: &Table) -> Result<()> {
    if !table.dtype().is_integer() || !table.row_shape().is_empty() {
        return Ok(());
    }
    let (mut signs, mut others) = ([false; 2], false);
    table.each_i64(|_, label| {
        signs = [signs[0] || label == -1, signs[1] || label == 1];
        others |= label.abs() != 1;
        Ok(())
    })?;
    if signs != [true; 2] || others {
        return Ok(());
    }
    let [problem, hint] = SIGNS;
    Err(table.fail(problem).with_hint(hint))
}

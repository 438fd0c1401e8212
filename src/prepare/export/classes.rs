//! The number of classes of labels.

use crate::error::Result;
use crate::prepare::import::Table;

/// The number of classes: one more than the largest class number, or the number of columns; `None` if labels are not
/// classes.
pub(super) fn num_classes(labels: &Table) -> Result<Option<u64>> {
    match labels.row_shape() {
        [] | [1] if labels.dtype().is_integer() => {}
        [] | [1] => return Ok(None),
        shape => return Ok(Some(shape.iter().product())),
    }
    let mut classes = 0;
    labels.each_i64(|_, label| {
        classes = classes.max(label + 1);
        Ok(())
    })?;
    Ok(Some(classes.max(0).cast_unsigned()))
}

//! The number of classes of labels.

use crate::error::Result;
use crate::prepare::import::Table;

/// Number of labels read at a time.
const BLOCK: u64 = 1 << 16;

/// The number of classes: one more than the largest class number, or the number of columns; `None` if labels are not
/// classes.
pub(super) fn num_classes(labels: &Table) -> Result<Option<u64>> {
    match labels.row_shape() {
        [] | [1] if labels.dtype().is_integer() => {}
        [] | [1] => return Ok(None),
        shape => return Ok(Some(shape.iter().product())),
    }
    let (mut classes, mut values) = (0, Vec::new());
    for first in (0..labels.num_rows()).step_by(BLOCK as usize) {
        let rows = first..labels.num_rows().min(first + BLOCK);
        values.resize((rows.end - rows.start) as usize, 0);
        labels.read_i64(rows, &mut values)?;
        classes = values.iter().fold(classes, |most, label| most.max(label + 1));
    }
    Ok(Some(classes.max(0).cast_unsigned()))
}

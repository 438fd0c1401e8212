//! Masks of splits that are drawn at random or follow the values of a column.

mod drawn_masks;
mod drawn_splits;
mod part_ends;
mod split_rows;

pub(crate) use drawn_masks::DrawnMasks;
pub(crate) use split_rows::{DividedRows, RowOrder};

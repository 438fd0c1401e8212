//! Masks of splits that are drawn at random or follow the values of a column.

mod drawn_masks;
mod drawn_splits;
mod part_ends;
mod split_rows;

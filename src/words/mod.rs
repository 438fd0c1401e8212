//! Texts for users: errors, words of options, names of fields, sizes.

pub mod choice;
pub mod error;
pub mod fields;
pub mod size;

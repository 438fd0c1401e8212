//! What the program says to its users: errors, words of options, names of fields.

pub mod choice;
pub mod error;
pub mod fields;

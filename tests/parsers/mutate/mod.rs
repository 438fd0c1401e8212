//! Changes to files: bytes, fields, lines, trees.

mod bytes;
mod mutation;
mod text;
mod tree;
mod words;

pub(crate) use mutation::{Syntax, mutate};

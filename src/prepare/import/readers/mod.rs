//! Files of any format as rows of typed columns.

mod adjacency_lists;
mod ambiguous;
mod archive;
mod archive_arrays;
mod bad_rows;
mod block;
mod dialect;
mod fields;
mod folder;
mod format;
mod formats;
mod graph_texts;
mod input;
mod json;
mod json_objects;
mod lines;
mod list;
mod look;
mod matrix_market;
mod metis;
mod names;
mod nearest;
mod npy;
mod npz;
mod parquet;
mod parquet_columns;
mod parquet_file;
mod parquet_pages;
mod refused;
mod rows;
mod sample;
mod separators;
mod sparse;
mod sparse_archive;
mod text;
mod values;
mod zip_member;

pub(crate) use archive_arrays::ArchiveArrays;
pub(crate) use bad_rows::BadRowList;
pub(crate) use look::{Ask, Column, Form, Wants, holding_all};
pub use look::{Comment, EdgeShape, TextRules};
pub(crate) use names::{
    UsualEnds, ends_of, has_ends, is_index, is_like_id, is_usual_id, listed, usual_ends,
};
pub(crate) use nearest::nearest;
pub(crate) use npz::{USUAL_EDGES, USUAL_LISTS, member_names};
pub(crate) use rows::FileRows;
pub(crate) use values::{CellValue, is_missing, is_sign, parse_id, shown};

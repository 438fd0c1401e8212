//! Small tools for tests of partitions.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::data_type::DataType;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use sar::prepare::import::{GraphFiles, ImportSource};
use sar::prepare::partition::{
    EdgeRules, LocalOrder, Method, PartitionRequest, Partitioned, partition_graph,
};

/// The command's defaults, except for the memory, which must not depend on the machine.
pub(crate) fn request(num_parts: usize) -> PartitionRequest {
    PartitionRequest {
        name: "g".to_owned(),
        num_parts,
        method: Method::Stream,
        assignment: Vec::new(),
        balance_ntypes: None,
        node_order: LocalOrder::Input,
        rules: EdgeRules::default(),
        memory: 4 << 30,
        seed: 0,
    }
}

/// A graph of edges in one file.
pub(crate) fn edges(path: &Path) -> GraphFiles {
    let edges = vec![GraphFiles::parse_edges("--edges", path.to_str().unwrap()).unwrap()];
    GraphFiles { edges, ..GraphFiles::default() }
}

/// Writes text and returns its path.
pub(crate) fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

/// A table as `formats::content` returns it.
pub(crate) fn table(key: &str, values: &[f64]) -> (String, Vec<f64>) {
    (key.to_owned(), values.to_vec())
}

/// The rows of a Parquet file.
pub(crate) type Rows<'f> = SerializedRowGroupWriter<'f, File>;

/// Writes a Parquet file, whose columns `write` adds.
pub(crate) fn parquet_file(path: &Path, schema: &str, write: impl FnOnce(&mut Rows<'_>)) {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = File::create(path).unwrap();
    let mut file = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut rows = file.next_row_group().unwrap();
    write(&mut rows);
    rows.close().unwrap();
    file.close().unwrap();
}

/// Adds the next column: values that exist, and levels if some are missing or in lists.
pub(crate) fn parquet_column<T: DataType>(
    rows: &mut Rows<'_>,
    values: &[T::T],
    levels: Option<&[i16]>,
    repeats: Option<&[i16]>,
) {
    let mut column = rows.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(values, levels, repeats).unwrap();
    column.close().unwrap();
}

/// A text of one line per item.
pub(crate) fn lines(items: impl Iterator<Item = impl ToString>) -> String {
    let mut text = String::new();
    for item in items {
        text.push_str(&item.to_string());
        text.push('\n');
    }
    text
}

/// `count` edges between `nodes` nodes, without a pattern, as text.
pub(crate) fn scattered(nodes: u64, count: u64) -> String {
    let mut state = 1u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % nodes
    };
    lines((0..count).map(|_| format!("{} {}", next(), next())))
}

/// Partitions without reporting progress.
pub(crate) fn partition(
    files: GraphFiles,
    request: &PartitionRequest,
    out: &Path,
) -> sar::Result<Partitioned> {
    partition_graph(&ImportSource::Files(files), request, out, &mut |_| Ok(()))
}

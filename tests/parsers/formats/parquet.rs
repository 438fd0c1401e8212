//! Parquet files of edges and of tables, in the encodings that its writers use.

use crate::campaign::{Read, Seed, run};
use crate::consume::raw;
use crate::folder::folder;
use crate::guard::BUFFERS;
use crate::mutate::Syntax;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{BoolType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use sar::prepare::import::{DataFile, GraphFiles, import};
use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

pub(crate) const LONGS: &str = "message m { required int64 src; required int64 dst; }";
const FLOATS: &str = "message m { required float a; required float b; }";
const DOUBLE: &str = "message m { required double a; }";
const OPTIONAL: &str = "message m { optional int64 a; }";
const SMALL: &str = "message m { required int32 a (UINT_8); }";
const BOOL: &str = "message m { required boolean a; }";
const LIST: &str =
    "message m { optional group a (LIST) { repeated group list { optional float element; } } }";

const ROWS: usize = 6;

/// A page may be 16 MiB when it is decompressed.
const PAGE: usize = 16 << 20;

#[test]
fn parquet() {
    let root = folder();
    let plain = || WriterProperties::builder().set_dictionary_enabled(false);
    let dictionary = WriterProperties::builder;
    let v2 = || dictionary().set_writer_version(WriterVersion::PARQUET_2_0);
    let shape = KeyValue::new("shape".to_owned(), "(6, 1, 2)".to_owned());
    let files = [
        ("edges", write(LONGS, plain())),
        ("edges", write(LONGS, dictionary().set_compression(Compression::SNAPPY))),
        ("edges", write(LONGS, v2().set_compression(zstd()))),
        ("edges", write(LONGS, plain().set_encoding(Encoding::DELTA_BINARY_PACKED))),
        ("feat", write(FLOATS, plain().set_encoding(Encoding::BYTE_STREAM_SPLIT))),
        ("feat", write(FLOATS, v2().set_key_value_metadata(Some(vec![shape])))),
        ("feat", write(DOUBLE, dictionary())),
        ("feat", write(OPTIONAL, v2())),
        ("feat", write(SMALL, dictionary().set_max_row_group_row_count(Some(2)))),
        ("feat", write(BOOL, v2().set_encoding(Encoding::RLE).set_dictionary_enabled(false))),
        ("feat", write(LIST, dictionary())),
        ("feat", write(LIST, plain().set_compression(Compression::SNAPPY))),
    ];
    let mut seeds = Vec::new();
    for (name, content) in files {
        let folder = root.path().join(seeds.len().to_string());
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("edges"), "0 1\n1 2\n2 3\n3 4\n4 5\n5 0\n").unwrap();
        let seed = Seed::new(content, Syntax::BINARY, &folder.join(name), read(&folder, name));
        seeds.push(Seed { buffers: BUFFERS + PAGE, ..seed });
    }
    run("parquet", &seeds);
}

fn zstd() -> Compression {
    Compression::ZSTD(ZstdLevel::try_new(1).unwrap())
}

fn read(folder: &Path, name: &'static str) -> Read {
    let folder = folder.to_owned();
    Rc::new(move |_| {
        let path = folder.join("edges").display().to_string();
        let edges = vec![GraphFiles::parse_edges("--edges", &path).unwrap()];
        let mut files = GraphFiles { edges, ..GraphFiles::default() };
        if name == "feat" {
            files.node_data = vec![DataFile::new("_N".to_owned(), "feat", &folder.join("feat"))];
        }
        raw(&import(&files, &folder, 1 << 20, &mut |_, _| Ok(()))?)
    })
}

/// A file of this schema with `ROWS` rows; two values per row where there are lists.
pub(crate) fn write(schema: &str, properties: WriterPropertiesBuilder) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = Arc::new(properties.build());
    let mut file = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
    let mut group = file.next_row_group().unwrap();
    while let Some(mut column) = group.next_column().unwrap() {
        use parquet::column::writer::ColumnWriter;
        let longs: Vec<i64> = (0..ROWS as i64).collect();
        let all = Some(&[1; ROWS][..]);
        match column.untyped() {
            ColumnWriter::Int64ColumnWriter(_) => {
                column.typed::<Int64Type>().write_batch(&longs, all, None).unwrap();
            }
            ColumnWriter::Int32ColumnWriter(_) => {
                let ints: Vec<i32> = longs.iter().map(|&long| long as i32).collect();
                column.typed::<Int32Type>().write_batch(&ints, None, None).unwrap();
            }
            ColumnWriter::DoubleColumnWriter(_) => {
                let doubles: Vec<f64> = longs.iter().map(|&long| long as f64).collect();
                column.typed::<DoubleType>().write_batch(&doubles, None, None).unwrap();
            }
            ColumnWriter::BoolColumnWriter(_) => {
                let bools: Vec<bool> = longs.iter().map(|&long| long % 2 == 0).collect();
                column.typed::<BoolType>().write_batch(&bools, None, None).unwrap();
            }
            _ => {
                let floats: Vec<f32> = (0..2 * ROWS).map(|at| at as f32).collect();
                let repeats: Vec<i16> = (0..2 * ROWS).map(|at| (at % 2) as i16).collect();
                let present = [3; 2 * ROWS];
                let column = column.typed::<FloatType>();
                let written = if column.get_descriptor().max_rep_level() > 0 {
                    column.write_batch(&floats, Some(&present), Some(&repeats))
                } else {
                    column.write_batch(&floats[..ROWS], None, None)
                };
                written.unwrap();
            }
        }
        column.close().unwrap();
    }
    group.close().unwrap();
    file.into_inner().unwrap()
}

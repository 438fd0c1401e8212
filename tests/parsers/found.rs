//! The failures that mutated files have found, as the smallest files that show them. The comments name format and input.

use crate::archive::archive;
use crate::folder::folder;
use crate::formats::parquet::{LONGS, write};
use crate::guard::{BUFFERS, limit, watch};
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use sar::formats::dgl::fused_csc::FusedCsc;
use sar::io::{Dtype, npy_header};
use sar::prepare::import::{DataFile, GraphFiles, import};
use std::fs;
use std::path::Path;
use zip::CompressionMethod;

const EDGES: &str = "0 1\n1 2\n2 0\n";

fn edges(path: &Path) -> GraphFiles {
    let edges = vec![GraphFiles::parse_edges("--edges", path.to_str().unwrap()).unwrap()];
    GraphFiles { edges, ..GraphFiles::default() }
}

/// Imports files of a folder; returns the error, which must be about a file.
fn fails(folder: &Path, files: &GraphFiles) -> String {
    let mut problem = String::new();
    let read = || {
        let result = import(files, folder, 1 << 20, &mut |_, _| Ok(())).map(drop);
        problem = result.as_ref().err().map(ToString::to_string).unwrap_or_default();
        result
    };
    assert_eq!(watch(0, BUFFERS, read), Ok(false));
    problem
}

/// npy 427: arithmetic below zero, and up to 4 GiB for the header.
#[test]
fn a_member_of_an_archive_that_starts_behind_the_end_of_the_file() {
    let folder = folder();
    let path = folder.path().join("edges.npz");
    let header = npy_header(Dtype::I64, &[2, 0]).unwrap();
    let mut file = archive([("edges.npy", &header[..])].into_iter(), CompressionMethod::Stored);
    // The length of the extra field in the member's header.
    file[28..30].copy_from_slice(&[0xff, 0xff]);
    fs::write(&path, file).unwrap();
    let problem = fails(folder.path(), &edges(&path));
    assert!(problem.contains("edges.npz"), "{problem}");
}

/// npy 436: a damaged stream was reported as a failure to write a temporary file, with the exit code of a full disk.
#[test]
fn a_compressed_array_that_is_damaged() {
    let folder = folder();
    let path = folder.path().join("edges.npz");
    let array = [npy_header(Dtype::I64, &[2, 2]).unwrap(), vec![0; 32]].concat();
    let mut file = archive([("edges.npy", &array[..])].into_iter(), CompressionMethod::Deflated);
    // The member's first byte, behind its header and its name: a block of a kind that does not exist.
    file[30 + "edges.npy".len()] = 0xff;
    fs::write(&path, file).unwrap();
    let problem = fails(folder.path(), &edges(&path));
    assert!(problem.contains("cannot be read"), "{problem}");
}

/// Found by coverage: 20 MB for a pickle of 100 kB, as each byte became a value of 104 bytes in a growing vector.
#[test]
fn a_pickle_of_many_values() {
    let folder = folder();
    let path = folder.path().join("fused_csc_sampling_graph.pt");
    let pickle = vec![b')'; 100_000];
    let file = archive([("graph/data.pkl", &pickle[..])].into_iter(), CompressionMethod::Stored);
    fs::write(&path, &file).unwrap();
    let limit = limit(BUFFERS, file.len());
    assert_eq!(watch(0, limit, || FusedCsc::open(&path).map(drop)), Ok(false));
}

/// Found by reading, before the first run: sums of counts that wrap around.
#[test]
fn counts_of_chunks_that_add_up_to_more_than_64_bits() {
    let folder = folder();
    let path = folder.path().join("metadata.json");
    let json = r#"{"node_type": ["a"], "edge_type": [], "edges": {},
        "num_nodes_per_chunk": [[18446744073709551615, 2]]}"#;
    fs::write(&path, json).unwrap();
    let problem = GraphFiles::of_chunks(&path).unwrap_err().to_string();
    assert!(problem.contains("num_nodes_per_chunk add up to more"), "{problem}");
}

/// Read by eye: rows without values take no bytes, so that their number wraps around.
#[test]
fn tables_of_rows_without_values() {
    let folder = folder();
    let text = folder.path().join("edges.txt");
    fs::write(&text, EDGES).unwrap();
    let table = folder.path().join("feat.npy");
    fs::write(&table, npy_header(Dtype::F32, &[1 << 63, 0]).unwrap()).unwrap();
    let node_data = vec![DataFile::new("_N".to_owned(), "feat", &table); 2];
    let problem = fails(folder.path(), &GraphFiles { node_data, ..edges(&text) });
    assert!(problem.contains("above 2^64"), "{problem}");
}

/// Read by eye: 2 GiB for a page, and 16 GiB for a dictionary, of a file of some hundred bytes.
#[test]
fn pages_and_dictionaries_that_claim_gigabytes() {
    let folder = folder();
    let path = folder.path().join("edges.parquet");
    let snappy = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let file = write(LONGS, snappy);
    // Behind "PAR1" the header of the first page, a dictionary: fields of one byte each (type, decompressed size, compressed
    // size, and in a structure the number of values), behind a byte that says what they are.
    assert_eq!(file[4..7], [0x15, 0x04, 0x15]);
    assert_eq!(file[10..12], [0x4c, 0x15]);
    for place in [7, 12] {
        let claim = [0xfe, 0xff, 0xff, 0xff, 0x0f];
        let file = [&file[..place], &claim[..], &file[place + 1..]].concat();
        fs::write(&path, file).unwrap();
        let problem = fails(folder.path(), &edges(&path));
        assert!(problem.contains("claims"), "{problem}");
    }
}

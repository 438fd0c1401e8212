//! Guards against: matrices and documents of other programs that are misread.

use std::fs;
use std::path::Path;

use predicates::str::contains;
use sar::io::Dtype;

use super::archives::{array, whole, write_npz};
use super::as_they_are::{edges, tables};
use super::columns::{refused, sar};
use super::support::write;

const REAL: &str = "%%MatrixMarket matrix coordinate real general\n% a comment\n\n";

#[test]
fn matrix_market_is_read_as_edges_and_as_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "a.mtx", &format!("{REAL}3 3 3\n2 1 0.5\n3 1 -125e-3\n3 2 1\n"));
    assert_eq!(edges(here, "--edges a.mtx"), [(1, 0), (2, 0), (2, 1)]);
    sar(here, "--edges a.mtx --num-parts 1 --out noted")
        .success()
        .stderr(contains("a.mtx: Matrix Market, 3 x 3; its values are left out, --edge-columns"));
    let found = tables(here, "--edges a.mtx --edge-columns w");
    assert_eq!(found, [("_N:_E:_N/w float32 []".to_owned(), vec![-0.125, 0.5, 1.0])]);
    for banner in ["%%MatrixMarket", "%MatrixMarket", "%%MATRIXMARKET", "\n %%matrixmarket"] {
        let rest = "matrix coordinate pattern symmetric\n4 4 2\n2 1\n3 3\n";
        write(here, "s.mtx", &format!("{banner} {rest}"));
        assert_eq!(edges(here, "--edges s.mtx"), [(0, 1), (1, 0), (2, 2)], "{banner}");
    }
    refused(here, "--edges s.mtx --undirected", "holds every edge in both directions already");
    write(here, "r.mtx", &format!("{REAL}2 3 1\n2 3 1\n"));
    refused(here, "--edges r.mtx", "has two node types, which are numbered separately: \"2 x 3\"");
    sar(here, "--edges a:r:b=r.mtx --num-parts 1 --out two")
        .success()
        .stderr(contains("5      1 "));
    // Values of one place are added, and places without a value are 0.
    write(here, "x.mtx", &format!("{REAL}3 2 4\n1 1 0.5\n3 2 1\n1 1 0.25\n2 1 -1\n"));
    let found = tables(here, "--edges a.mtx --node-data x=x.mtx");
    assert_eq!(found, [("_N/x float64 [2]".to_owned(), vec![0.75, 0.0, -1.0, 0.0, 0.0, 1.0])]);
    write(here, "x.mtx", "%%MatrixMarket matrix array integer general\n3 2\n1\n2\n3\n4\n5\n6\n");
    let found = tables(here, "--edges a.mtx --node-data x=x.mtx");
    assert_eq!(found, [("_N/x int64 [2]".to_owned(), vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0])]);
    write(here, "k.mtx", "%%MatrixMarket matrix array real skew-symmetric\n2 2\n7\n");
    assert_eq!(tables(here, "--edges k.mtx --edge-columns w")[0].1, [-7.0, 7.0]);
}

#[test]
fn damaged_matrices_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    for (rows, due) in [
        ("3 3 2\n2 1 1\n", "line 5: is the last line, but only 1 of 2 values have one"),
        ("3 3 1\n2 1 1\n1 1 1\n", "line 6: comes after the last of 1 values"),
        ("3 3 1\n0 1 1\n", "line 5: does not begin with the numbers of a row and a column"),
        ("3 3 1\n4 1 1\n", "line 5: lies outside the matrix"),
        ("3 3 1\n2 1 x\n", "line 5: does not end with a number"),
        ("3 3 1\n2 1\n", "line 5: does not end with a number"),
        ("3 3\n2 1 1\n", "line 4: must hold the numbers of rows, columns and values"),
        ("9999999999 9999999999 1\n2 1 1\n", "holds 1 values of 9999999999 x 9999999999"),
    ] {
        write(here, "a.mtx", &format!("{REAL}{rows}"));
        refused(here, "--edges a.mtx", due);
        write(here, "e.csv", "0,1\n1,2\n");
        refused(here, "--edges e.csv --node-data x=a.mtx", due);
    }
    write(here, "a.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n");
    refused(here, "--edges a.mtx", "the values are complex, which is not read")
        .stderr(contains("scipy.io.mmwrite"));
}

/// Writes an archive of arrays of whole numbers, and one of a word.
fn write_matrix(folder: &Path, arrays: &[(&str, &[i64])], word: &str) {
    let arrays = arrays.iter().map(|(name, values)| (*name, whole(values)));
    let mut arrays: Vec<(&str, Vec<u8>)> = arrays.collect();
    let header = format!("{{'descr': '|S3', 'fortran_order': False, 'shape': (), }}{:60}\n", "");
    let start = [b"\x93NUMPY\x01\0".as_slice(), &(header.len() as u16).to_le_bytes()].concat();
    arrays.push(("format", [&start, header.as_bytes(), word.as_bytes()].concat()));
    write_npz(folder, "a.npz", &arrays);
}

#[test]
fn sparse_matrices_of_scipy_are_read_as_edges_and_as_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let shape = ("shape", &[3, 3][..]);
    let row = [shape, ("indptr", &[0, 1, 1, 3]), ("indices", &[1, 2, 0]), ("data", &[7, 8, 9])];
    let listed = [shape, ("row", &[0, 2, 2]), ("col", &[1, 2, 0]), ("data", &[7, 8, 9])];
    for (arrays, form) in [(&row, "csr"), (&listed, "coo")] {
        write_matrix(here, arrays, form);
        assert_eq!(edges(here, "--edges a.npz"), [(0, 1), (2, 0), (2, 2)], "{form}");
        let found = tables(here, "--edges a.npz --edge-columns w");
        assert_eq!(found, [("_N:_E:_N/w int64 []".to_owned(), vec![7.0, 8.0, 9.0])], "{form}");
        let found = tables(here, "--edges a.npz --node-data x=a.npz");
        assert_eq!(found[0].1, [0.0, 7.0, 0.0, 0.0, 0.0, 0.0, 9.0, 0.0, 8.0], "{form}");
    }
    write_matrix(here, &row, "csc");
    assert_eq!(edges(here, "--edges a.npz"), [(0, 2), (1, 0), (2, 2)]);
    write_matrix(here, &row, "bsr");
    refused(here, "--edges a.npz", "in the form bsr, which is not read").stderr(contains("tocsr"));
    write_matrix(here, &[shape, ("row", &[0]), ("col", &[-1]), ("data", &[1])], "coo");
    refused(here, "--edges a.npz", "a.npz: value 0: lies outside the matrix");
    write_matrix(here, &[shape, ("row", &[0]), ("col", &[1, 2]), ("data", &[1])], "coo");
    refused(here, "--edges a.npz", "a.npz: is a sparse matrix whose arrays differ in length");
}

#[test]
fn json_is_read_by_the_keys_of_its_objects() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let lines =
        "{\"target\": 1, \"source\": 0, \"w\": 0.5}\n{\"source\": 1, \"w\": 2, \"target\": 2}\n";
    let list = "[\n {\"source\": 0, \"target\": 1, \"w\": 5e-1},\n {\"source\": 1, \"target\": 2, \"w\": 2}]";
    for text in [lines, list] {
        write(here, "e.json", text);
        assert_eq!(edges(here, "--edges e.json"), [(0, 1), (1, 2)]);
        assert_eq!(tables(here, "--edges e.json --edge-columns w")[0].1, [0.5, 2.0]);
    }
    let nodes = "{\"id\": \"a\\n\\u00e9\", \"x\": [1, 2.5], \"label\": \"u\"}\n\
                 {\"id\": \"{b]\\\"\", \"x\": [3, null]}\n{\"label\": \"v\", \"id\": \"c\", \"x\": null}\n";
    write(here, "n.jsonl", nodes);
    write(here, "e.jsonl", "{\"u\": \"{b]\\\"\", \"v\": \"c\"}\n");
    let words = "--edges e.jsonl --node-table n.jsonl --id id --label label --scale none";
    refused(here, words, "n.jsonl: line 1: column id: the id \"a\\né\" holds a line break");
    write(here, "n.jsonl", &nodes.replace("a\\n", "a "));
    refused(here, words, "n.jsonl: line 3: column x[0]: the value is missing");
    let found = tables(here, &format!("{words} --fill-missing 0"));
    assert_eq!(found[0].1, [1.0, 2.5, 3.0, 0.0, 0.0, 0.0]);
    assert_eq!(found[1].1, [0.0, -1.0, 1.0]);
    assert_eq!(edges(here, &format!("{words} --fill-missing 0")), [(1, 2)]);
    for (text, due) in [
        (
            "{\"source\": [0, 1], \"target\": [1, 2]}",
            "is one JSON object, not an object for each row",
        ),
        (
            "{\"tr\": [0, 1], \"va\": [2]}",
            "numpy.savetxt(\"NAME.txt\", json.load(open(\"x.json\"))[\"NAME\"], \"%s\")",
        ),
        ("{\"columns\": [\"a\"], \"index\": [0, 1], \"data\": [[1], [2]]}", "orient=\"split\""),
        ("{\"a\": 1, \"b\": {}}\n{\"a\": 1, \"b\": {}}\n", "column b holds structures"),
        ("{\"a\": 0, \"b\": 1}\n{\"a\": 1, \"b\":", "line 2: begins an object that does not end"),
        ("{\"a\": 0, \"b\": 1}\n{\"a\": 1, \"b\": NaN}", "line 2: is not JSON"),
        ("{\"a\": 0, \"b\": 1}\n7\n", "line 2: '7' stands where an object begins"),
        (
            "{\"a\": [0, 1], \"b\": 1}\n{\"a\": [0, 1], \"b\": 1}\n",
            "column a holds 2 values in each row",
        ),
        ("{\"a\": 0, \"b\": 1}\n{\"a\": 0, \"b\": [1]}\n", "line 1: column b: one value, but"),
        ("[[0, 1], [1, 2]]", "line 1: '0' stands where an object begins"),
    ] {
        write(here, "f.json", text);
        refused(here, "--edges f.json", due);
    }
    let mut text = "{\"a\": 0, \"b\": 1}\n".repeat(100);
    text += "{\"a\": 0, \"b\": 1, \"c\": 2}\n";
    write(here, "f.json", &text);
    refused(here, "--edges f.json", "line 101: key \"c\" is in none of the first objects");
}

#[test]
fn all_formats_of_text_may_be_packed() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let text = "0,1\n1,2\n";
    let packed = [
        zstd::encode_all(&text.as_bytes()[..4], 3).unwrap(),
        zstd::encode_all(&text.as_bytes()[4..], 3).unwrap(),
    ];
    fs::write(here.join("e.csv.zst"), packed.concat()).unwrap();
    assert_eq!(edges(here, "--edges e.csv.zst"), [(0, 1), (1, 2)]);
    let matrix = format!("{REAL}3 3 1\n2 1 1\n");
    let whole = zstd::encode_all(matrix.as_bytes(), 3).unwrap();
    fs::write(here.join("a.mtx.zst"), &whole).unwrap();
    assert_eq!(edges(here, "--edges a.mtx.zst"), [(1, 0)]);
    fs::write(here.join("a.mtx.zst"), &whole[..whole.len() - 5]).unwrap();
    refused(here, "--edges a.mtx.zst", "a.mtx.zst: cannot be read: ");
    let array = array(Dtype::I64, &[2, 0], &[]);
    fs::write(here.join("a.npy.zst"), zstd::encode_all(&array[..], 3).unwrap()).unwrap();
    refused(here, "--edges a.npy.zst", "is a NumPy file that is compressed by zstd");
}

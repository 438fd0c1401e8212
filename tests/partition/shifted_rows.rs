//! Guards against: rows that go to other nodes, and values that are cut, without an error.

use std::path::Path;

use parquet::data_type::{Int32Type, Int64Type};
use predicates::str::contains;

use super::as_they_are::{edges, tables};
use super::columns::{refused, sar};
use super::support::{parquet_column, parquet_file, write};

const EDGES: &str = "--edges e.txt";

/// Values of the node data that a file makes.
fn data(folder: &Path, words: &str) -> Vec<f64> {
    tables(folder, &format!("{EDGES} {words}")).remove(0).1
}

/// Writes a Parquet file of one column `f` with this type.
fn write_column(path: &Path, kind: &str, values: &[i32]) {
    parquet_file(path, &format!("message m {{ required {kind}; }}"), |rows| {
        if kind.starts_with("int32") {
            parquet_column::<Int32Type>(rows, values, None, None);
        } else {
            let values: Vec<i64> = values.iter().map(|value| i64::from(*value)).collect();
            parquet_column::<Int64Type>(rows, &values, None, None);
        }
    });
}

#[test]
fn rows_without_values_keep_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.txt", "0 1\n");
    write(here, "f.tsv", "a\tb\n1\t2\n\t\n5\t6\n");
    refused(
        here,
        &format!("{EDGES} --node-data feat=f.tsv"),
        "line 3: column a: the value is missing",
    )
    .stderr(contains("df.fillna(0)"));
    write(here, "n.tsv", "id\ta\n0\t2\n\t\n");
    refused(here, &format!("{EDGES} --node-table n.tsv"), "line 3");
    // White space alone is still an empty line.
    write(here, "f.csv", "1,2\n \t\n5,6\n");
    assert_eq!(data(here, "--node-data feat=f.csv"), [1.0, 2.0, 5.0, 6.0]);
    // So is a tab before comments, but not before rows.
    write(here, "f.tsv", "\t\n1\t2\n");
    refused(
        here,
        &format!("{EDGES} --node-data feat=f.tsv"),
        "line 1: column 1: the value is missing",
    );
    write(here, "t.tsv", "# a\n\t\n# ToNodeId\tFromNodeId\n1\t0\n");
    assert_eq!(edges(here, "--edges t.tsv"), [(0, 1)]);
}

#[test]
fn parts_of_a_folder_are_in_numeric_order_and_keep_all_their_digits() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.txt", "0 1\n");
    std::fs::create_dir(here.join("parts")).unwrap();
    for (at, value) in [(0, 1), (2, 300), (10, 70_000)] {
        let kind = if at == 0 { "int32 f (INTEGER(8,true))" } else { "int64 f" };
        write_column(&here.join(format!("parts/part.{at}.parquet")), kind, &[value]);
    }
    assert_eq!(data(here, "--node-data feat=parts"), [1.0, 300.0, 70_000.0]);
    // Decimals without decimal places may be ids.
    for kind in ["int64 f (DECIMAL(18,0))", "int32 f (DECIMAL(9,0))"] {
        write_column(&here.join("f.parquet"), kind, &[1]);
        assert_eq!(data(here, "--split train=f.parquet"), [0.0, 1.0]);
    }
}

#[test]
fn an_index_of_pandas_counts_the_rows() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.txt", "0 1\n");
    for index in [
        ["0", "1", "2"],
        ["1", "2", "3"],
        ["0", "1", "0"],
        ["a", "b", "1"],
        ["1000", "1001", "1002"],
    ] {
        let [a, b, c] = index;
        write(here, "f.csv", &format!(",x\n{a},7\n{b},8\n{c},9\n"));
        assert_eq!(data(here, "--node-data feat=f.csv"), [7.0, 8.0, 9.0], "{index:?}");
    }
    for [a, b, c] in [["2", "1", "0"], ["0", "2", "1"], ["0", "1", "3"]] {
        write(here, "f.csv", &format!(",x\n{a},7\n{b},8\n{c},9\n"));
        refused(here, &format!("{EDGES} --node-data feat=f.csv"), "the index (column 1) is")
            .stderr(contains("df.sort_index()"));
    }
}

#[test]
fn rows_of_data_are_in_the_order_of_names() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.txt", "0 1\n1 2\n");
    write(here, "f.json", "{\"2\": [7, 9], \"0\": [1], \"1\": [7]}");
    let words = "--node-table f.json --node-data label=t.csv";
    for (text, due) in [
        (
            "id,y\n0,100\n1,101\n2,102\n",
            "t.csv: line 2: column id: \"0\", but rows are in the order of f.json",
        ),
        ("100\n101\n102\n", "f.json: has the ids from 0 out of order, and t.csv has no ids"),
    ] {
        write(here, "t.csv", text);
        refused(here, &format!("{EDGES} {words}"), due).stderr(contains("hint: "));
    }
    // A list of names has the order of the rows.
    write(here, "l.txt", "2\n0\n1\n");
    assert_eq!(data(here, "--node-names l.txt --node-data y=t.csv"), [100.0, 101.0, 102.0]);
    write(here, "t.csv", "id,y\n2,102\n0,100\n1,101\n");
    assert_eq!(tables(here, &format!("{EDGES} {words}"))[1].1, [102.0, 100.0, 101.0]);
}

#[test]
fn numbers_of_columns_are_a_header() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.txt", "0 1\n");
    write(here, "f.csv", ",0,1\n0,0.5,2\n1,3,4\n");
    assert_eq!(data(here, "--node-data feat=f.csv"), [0.5, 2.0, 3.0, 4.0]);
    write(here, "g.csv", "0,1\n0.5,2\n");
    // A header of edges does not decide on that of data.
    write(here, "h.csv", "source,target\n0,1\n");
    for header in ["", " --header"] {
        let words = format!("--edges h.csv --node-data feat=g.csv{header}");
        refused(here, &words, "g.csv: line 1: 0, 1 may number the columns")
            .stderr(contains("header=False); if it is a row, write its first number with"));
    }
    assert_eq!(data(here, "--node-data feat=g.csv --no-header"), [0.0, 1.0, 0.5, 2.0]);
    write(here, "g.csv", "0.0,1\n0.5,2\n");
    assert_eq!(data(here, "--node-data feat=g.csv"), [0.0, 1.0, 0.5, 2.0]);
    write(here, "a.csv", "0,1,2,3\n-4,5,6,7\n");
    assert_eq!(data(here, "--node-data feat=a.csv").len(), 8);
    // Flags that name a column make them names.
    write(here, "n.csv", "0,1,2\n0,0.5,3\n1,1.5,2\n");
    assert_eq!(data(here, "--node-table n.csv --id 0 --drop 2 --scale none"), [0.5, 1.5]);
    refused(here, &format!("{EDGES} --node-table n.csv --id 0 --label 9"), "has no column \"9\"")
        .stderr(contains("needs a first line with names"));
    // Words of a comment are not names.
    write(here, "x.txt", "# node features\n0.5 1.5\n2 3\n");
    assert_eq!(data(here, "--node-data feat=x.txt"), [0.5, 1.5, 2.0, 3.0]);
    write(here, "l.csv", ",0\n0,3\n1,2\n");
    assert_eq!(data(here, "--node-data label=l.csv"), [3.0, 2.0]);
    // Two classes, one-hot, or a header.
    write(here, "h.csv", "0,1\n1,0\n");
    assert_eq!(data(here, "--node-data feat=h.csv"), [0.0, 1.0, 1.0, 0.0]);
    write(here, "l.csv", "0\n1\n1\n");
    let words = format!("{EDGES} --node-data label=l.csv --node-data feat=f.csv");
    refused(here, &words, "states 3 nodes").stderr(contains("pandas' name of a column"));
}

#[test]
fn nodes_without_a_label_are_counted_and_two_signs_refused() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.txt", "0 1\n");
    write(here, "l.txt", "1\n-1\n-1\n");
    write(here, "n.csv", "id,y\n0,1\n1,-1\n2,\n");
    for words in ["--node-data label=l.txt", "--node-table n.csv --label y"] {
        refused(here, &format!("{EDGES} {words}"), "the labels -1 and 1")
            .stderr(contains("number classes from 0"));
    }
    assert_eq!(data(here, "--node-data label_sign=l.txt"), [1.0, -1.0, -1.0]);
    // A program without libtorch has no flag for the task.
    let negative =
        "_N/label: 1 of 3 nodes have no label or a negative one, which means none unless ";
    for (out, text, due) in [
        ("a", "1\n-1\n0\n", negative),
        ("b", "1\n\n-0.5\n", "_N/label: 1 of 3 nodes have no label\n"),
    ] {
        write(here, "l.txt", text);
        sar(here, &format!("{EDGES} --node-data label=l.txt --num-parts 1 --out {out}"))
            .success()
            .stderr(contains(due));
    }
    // A hyphen among names is a name; among numbers it is not.
    write(here, "n.csv", "id,y\n0,no\n1,-\n2,NA\n");
    assert_eq!(data(here, "--node-table n.csv --label y"), [1.0, 0.0, -1.0]);
    write(here, "n.csv", "id,y\n0,1\n1,-\n2,0\n");
    assert_eq!(data(here, "--node-table n.csv --label y"), [1.0, -1.0, 0.0]);
    // In JSON, words for missing values are names, except for those that pandas writes.
    let rows = r#"{"id": 0, "y": "NA"}
{"id": 1, "y": "None"}
{"id": 2, "y": "no"}
"#;
    write(here, "n.json", rows);
    assert_eq!(data(here, "--node-table n.json --label y"), [0.0, -1.0, 1.0]);
}

#[test]
fn a_number_among_lists_is_a_list_of_one_word() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.txt", "0 1\n");
    write(here, "n.csv", "id,g\n0,12|14\n1,7\n2,7|12\n");
    // The columns are 7, 12 and 14.
    let due = [0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0];
    assert_eq!(data(here, "--node-table n.csv"), due);
}

#[test]
fn hints_name_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    for (text, due) in [
        ("[0, 1]\n[1, 2]\n", "each row is an object"),
        ("{\"source\": 0, \"target\": 1, \"w\": NaN}\n", "write null for missing values"),
        ("1.000000e+00 2.000000e+00\n", "fmt=\"%d\""),
        ("0 99999999999999\n", "pass --node-ids string"),
    ] {
        write(here, "e.txt", text);
        refused(here, EDGES, "e.txt: line 1").stderr(contains(due));
    }
    // Names may begin like JSON.
    write(here, "e.txt", "[1],[2]\n");
    assert_eq!(edges(here, "--edges e.txt --node-ids string"), [(0, 1)]);
    // Or like GML.
    write(here, "e.txt", "graph\t[x]\n[x]\tb\n");
    assert_eq!(edges(here, "--edges e.txt --node-ids string"), [(0, 1), (1, 2)]);
    write(here, "e.txt", "a b\n");
    write(here, "n.tsv", "#protein\tx\na\t1\nb\t2\n");
    assert_eq!(data(here, "--node-table n.tsv --id protein --scale none"), [1.0, 2.0]);
}

#[test]
fn lists_whose_mean_length_is_whole_are_still_of_several_lengths() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.txt", "0 1\n");
    let schema = "message m { required int64 id; required group w (LIST) { repeated group list { \
                  required int32 element; } } }";
    let (values, repeats) = ([1, 2, 3, 4, 5, 6], [0, 1, 0, 0, 1, 1]);
    parquet_file(&here.join("n.parquet"), schema, |rows| {
        parquet_column::<Int64Type>(rows, &[0, 1, 2], None, None);
        parquet_column::<Int32Type>(rows, &values, Some(&[1; 6]), Some(&repeats));
    });
    let found = tables(here, &format!("{EDGES} --node-table n.parquet")).remove(0);
    assert_eq!(
        (found.0.as_str(), &found.1[..6]),
        ("_N/feat uint8 [6]", &[1.0, 1.0, 0.0, 0.0, 0.0, 0.0][..])
    );
    // Labels may be lists of one length.
    let (values, repeats) = ([1, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1]);
    parquet_file(&here.join("n.parquet"), schema, |rows| {
        parquet_column::<Int64Type>(rows, &[0, 1, 2], None, None);
        parquet_column::<Int32Type>(rows, &values, Some(&[1; 6]), Some(&repeats));
    });
    let found = tables(here, &format!("{EDGES} --node-table n.parquet --label w")).remove(0);
    assert_eq!(found, ("_N/label float32 [2]".to_owned(), values.map(f64::from).to_vec()));
}
